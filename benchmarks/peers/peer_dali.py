"""NVIDIA DALI with all operators on the CPU."""
import meter

args = meter.arguments("plain", "tuned")

import math
import os

import numpy as np
import nvidia.dali as dali
from nvidia.dali import fn, types

B = args.batch
# What its documents name for a processor: threads that keep to a processor, buffers that do not shrink and
# grow ahead, a deeper queue, and libjpeg's fast inverse transform, at the cost of exactness.
TUNED = args.variant == "tuned"
if TUNED:
    os.environ["DALI_AFFINITY_MASK"] = ",".join(str(c) for c in sorted(os.sched_getaffinity(0))[:args.threads])
    dali.backend.SetHostBufferShrinkThreshold(0)
    dali.backend.SetHostBufferGrowthFactor(1.5)
DECODE = dict(use_fast_idct=True) if TUNED else {}
QUEUE = 4 if TUNED else 2
FILES = [] if args.workload == "mnist" or args.first else meter.jpegs(args.data)
NORMALISE = dict(dtype=types.FLOAT, output_layout="CHW", mean=[255 * m for m in meter.MEAN], std=[255 * s for s in meter.STD])


def encoded():
    # For the first batch of a start, its own listing of a folder of folders.
    data = dict(file_root=args.data) if args.first else dict(files=FILES)
    return fn.readers.file(**data, random_shuffle=args.shuffle, initial_fill=1000)[0]


def cropped():
    x = fn.decoders.image_random_crop(encoded(), random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3], **DECODE)
    return fn.resize(x, resize_x=224, resize_y=224, interp_type=types.INTERP_LINEAR)


def train():
    return fn.crop_mirror_normalize(cropped(), mirror=fn.random.coin_flip(), **NORMALISE)


def uniform(lo, hi):
    return fn.random.uniform(range=[lo, hi])


def strong():
    x = fn.color_twist(cropped(), brightness=uniform(0.6, 1.4), contrast=uniform(0.6, 1.4), saturation=uniform(0.6, 1.4), hue=uniform(-36, 36))
    # A region of half of the pictures; of bytes, which is faster than of float32 behind the normalisation.
    area, aspect = uniform(0.02, 0.33) * fn.random.coin_flip(), dali.math.exp(uniform(math.log(0.3), math.log(3.3)))
    h, w = dali.math.min(dali.math.sqrt(area * aspect), 1), dali.math.min(dali.math.sqrt(area / aspect), 1)
    anchor = fn.stack(uniform(0, 1) * (1 - h), uniform(0, 1) * (1 - w))
    x = fn.erase(x, anchor=anchor, shape=fn.stack(h, w), axis_names="HW", normalized=True, fill_value=[124, 116, 104])
    return fn.crop_mirror_normalize(x, mirror=fn.random.coin_flip(), **NORMALISE)


def evaluate():
    x = fn.resize(fn.decoders.image(encoded(), **DECODE), resize_shorter=256, interp_type=types.INTERP_LINEAR)
    return fn.crop_mirror_normalize(x, crop=(224, 224), **NORMALISE)


def decode():
    return fn.decoders.image(encoded(), **DECODE)


def cifar():
    return fn.crop_mirror_normalize(fn.decoders.image(encoded(), **DECODE), **NORMALISE)


def mnist():
    pictures, labels = meter.mnist(args.data)
    rng = np.random.default_rng(1)

    def batches():
        while True:
            order = rng.permutation(len(pictures))
            for i in range(0, len(order) // B * B, B):
                yield pictures[order[i:i + B]], labels[order[i:i + B]]

    x, y = fn.external_source(source=batches(), num_outputs=2, batch=True)
    return fn.cast(x, dtype=types.FLOAT) / 255, fn.one_hot(y, num_classes=10)


meter.imported()
pipe = dali.Pipeline(batch_size=B, num_threads=args.threads, device_id=None, prefetch_queue_depth=QUEUE, set_affinity=TUNED, seed=1)
with pipe:
    out = {"train": train, "strong": strong, "eval": evaluate, "decode": decode, "mnist": mnist, "cifar": cifar}[args.workload]()
    pipe.set_outputs(*(out if isinstance(out, tuple) else (out,)))
pipe.build()
# DALI rounds an epoch of pictures up to whole batches.
STEPS = 60000 // B if args.workload == "mnist" else 1 if args.first else -(-len(FILES) // B)


def epoch():
    for _ in range(STEPS):
        x = pipe.run()[0]
        if args.workload == "decode":
            np.asarray(x[0])[0, 0, 0]
        else:
            np.asarray(x.as_tensor()).flat[0]
        yield B


meter.measure(args, dali.__version__, epoch)
