"""Writes the files of this folder with numpy."""
import os
import numpy as np

os.chdir(os.path.dirname(os.path.abspath(__file__)))
for t in "?", "u1", "i1", "<u2", ">i2", "<u4", ">i4", "<u8", ">i8", "<f2", "<f4", ">f4", "<f8", ">f8":
    np.save("type_%s.npy" % t.replace("?", "b1").replace("<", "le_").replace(">", "be_"), (np.arange(24) % 2 if t == "?" else np.arange(24)).astype(t).reshape(4, 3, 2))
labels = np.array([2, 0, 1, 2])
pictures = np.arange(4 * 5 * 6, dtype=np.uint8).reshape(4, 5, 6)
np.savez("plain.npz", x=pictures, y=labels)
np.savez_compressed("compressed.npz", x=pictures.astype(">u2"), y=labels)
np.save("fortran.npy", np.asfortranarray(pictures))
np.save("structured.npy", np.zeros(3, dtype=[("a", "<i4"), ("b", "<f4")]))
np.save("complex.npy", np.zeros(3, dtype=np.complex64))
np.save("scalar.npy", np.float32(3))
