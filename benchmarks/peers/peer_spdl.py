"""SPDL: a pipeline of threads; FFmpeg decodes, crops and resizes, NumPy normalises."""
import meter

args = meter.arguments()

import importlib.metadata
import math
import random

import numpy as np
import spdl.io
from spdl.pipeline import PipelineBuilder

SCALE = (1 / (255 * np.array(meter.STD, np.float32)))[:, None, None].astype(np.float32)
BIAS = (-np.array(meter.MEAN) / np.array(meter.STD))[:, None, None].astype(np.float32)
ONE_THREAD = spdl.io.decode_config(decoder_options={"threads": "1"})


def picture(file, filters):
    """Decodes a file through the FFmpeg filters that filters(width, height) names."""
    packets = spdl.io.demux_image(file)
    desc = filters(packets.width, packets.height) + "format=rgb24"
    return spdl.io.to_numpy(spdl.io.convert_frames(spdl.io.decode_packets(packets, filter_desc=desc, decode_config=ONE_THREAD)))


def normalise(x):
    y = x.transpose(2, 0, 1) * SCALE
    y += BIAS
    return y


def random_crop(w, h):
    for _ in range(10):
        area, ratio = w * h * random.uniform(0.08, 1), math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        cw, ch = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < cw <= w and 0 < ch <= h:
            return cw, ch, random.randint(0, w - cw), random.randint(0, h - ch)
    side = min(w, h)
    return side, side, (w - side) // 2, (h - side) // 2


def train_filters(w, h):
    cw, ch, x, y = random_crop(w, h)
    return f"crop={cw}:{ch}:{x}:{y}:exact=1,scale=224:224:flags=bilinear," + random.choice(["hflip,", ""])


def eval_filters(w, h):
    s = 256 / min(w, h)
    return f"scale={round(w * s)}:{round(h * s)}:flags=bilinear,crop=224:224,"


def mnist(order):
    return PICTURES[order].astype(np.float32) / 255, np.eye(10, dtype=np.float32)[LABELS[order]]


MAKE = {
    "train": lambda batch: np.stack([normalise(picture(f, train_filters)) for f in batch]),
    "eval": lambda batch: np.stack([normalise(picture(f, eval_filters)) for f in batch]),
    "decode": lambda batch: [picture(f, lambda w, h: "") for f in batch],
    "mnist": mnist,
    "cifar": lambda batch: np.stack([normalise(picture(f, lambda w, h: "")) for f in batch]),
}[args.workload]
if args.workload == "mnist":
    PICTURES, LABELS = meter.mnist(args.data)
    SAMPLES = np.arange(len(PICTURES))
else:
    SAMPLES = np.array(meter.jpegs(args.data))


class Batches:
    """Files, or rows of mnist, in batches without end. A task makes a whole batch: one a picture costs more."""

    def __iter__(self):
        while True:
            order = np.random.permutation(SAMPLES) if args.shuffle else SAMPLES
            for i in range(0, len(order), args.batch):
                yield order[i:i + args.batch]


builder = PipelineBuilder().add_source(Batches()).pipe(MAKE, concurrency=args.threads).add_sink(2)
pipeline = builder.build(num_threads=args.threads)
STEPS = -(-len(SAMPLES) // args.batch)


def epoch():
    for _ in range(STEPS):
        batch = pipeline.get_item()
        x = batch[0] if args.workload in ("mnist", "decode") else batch
        x.flat[0]
        yield len(batch) if args.workload == "decode" else len(x)


with pipeline.auto_stop():
    meter.measure(args, importlib.metadata.version("spdl"), epoch)
