"""Writes the data sets: the same pictures, in one random order, as tar archives, MDS and LitData's
chunks of the same number of samples. Run by run.py, in the environment of the peers."""

import argparse
import io
import os
import pathlib
import random
import shutil
import tarfile


def pictures(folder, copies):
    files = sorted(p for p in pathlib.Path(folder).iterdir() if p.suffix.lower() in (".jpeg", ".jpg"))
    files = files * copies
    random.Random(1).shuffle(files)
    return files


def tar(files, out, per_shard):
    os.makedirs(out)
    for at in range(0, len(files), per_shard):
        with tarfile.open(f"{out}/{at // per_shard:04d}.tar", "w", format=tarfile.USTAR_FORMAT) as to:
            for i, path in enumerate(files[at : at + per_shard], at):
                data = path.read_bytes()
                info = tarfile.TarInfo(f"{i:06d}.jpg")
                info.size = len(data)
                to.addfile(info, io.BytesIO(data))


def mds(files, out, per_shard):
    import streaming

    size = sum(os.path.getsize(f) for f in files) * per_shard // len(files)
    with streaming.MDSWriter(out=out, columns={"id": "int", "picture": "bytes"}, size_limit=size) as to:
        for i, path in enumerate(files):
            to.write({"id": i, "picture": path.read_bytes()})


def chunk(job):
    return {"id": job[0], "picture": pathlib.Path(job[1]).read_bytes()}


def lit(files, out, per_shard, work):
    # optimize() deletes folders below the temporary one: all of them are its own.
    for name, value in (("TMPDIR", "tmp"), ("DATA_OPTIMIZER_CACHE_FOLDER", "cache"), ("DATA_OPTIMIZER_DATA_CACHE_FOLDER", "data")):
        os.makedirs(f"{work}/{value}", exist_ok=True)
        os.environ[name] = f"{work}/{value}"
    import litdata

    litdata.optimize(fn=chunk, inputs=[(i, str(f)) for i, f in enumerate(files)], output_dir=out, chunk_size=per_shard, num_workers=1, reorder_files=False)


def main():
    f = argparse.ArgumentParser()
    f.add_argument("--pictures", required=True)
    f.add_argument("--out", required=True)
    f.add_argument("--work", required=True)
    f.add_argument("--copies", type=int, default=4)
    f.add_argument("--per-shard", type=int, default=100)
    o = f.parse_args()
    files = pictures(o.pictures, o.copies)
    for name, make in (("tar", tar), ("mds", mds), ("litdata", lambda *a: lit(*a, o.work))):
        if not os.path.exists(f"{o.out}/{name}"):
            try:
                make(files, f"{o.out}/{name}", o.per_shard)
            except BaseException:
                shutil.rmtree(f"{o.out}/{name}", ignore_errors=True)
                raise
    print(len(files))


if __name__ == "__main__":
    main()
