"""Grain with threads; Pillow decodes and resizes, NumPy normalises."""
import meter

args = meter.arguments()

import importlib.metadata
import math
import os

import grain
import numpy as np
from PIL import Image

SCALE = (1 / (255 * np.array(meter.STD, np.float32))).astype(np.float32)
BIAS = (-np.array(meter.MEAN) / np.array(meter.STD)).astype(np.float32)
BILINEAR = Image.Resampling.BILINEAR


def picture(file):
    return Image.open(file).convert("RGB")


def normalise(im):
    x = np.asarray(im) * SCALE
    x += BIAS
    return np.ascontiguousarray(x.transpose(2, 0, 1))


def random_crop(w, h, rng):
    for _ in range(10):
        area, ratio = w * h * rng.uniform(0.08, 1), math.exp(rng.uniform(math.log(3 / 4), math.log(4 / 3)))
        cw, ch = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < cw <= w and 0 < ch <= h:
            x, y = rng.integers(0, w - cw + 1), rng.integers(0, h - ch + 1)
            return x, y, x + cw, y + ch
    side = min(w, h)
    x, y = (w - side) // 2, (h - side) // 2
    return x, y, x + side, y + side


class Train(grain.transforms.RandomMap):
    def random_map(self, file, rng):
        im = picture(file)
        im = im.resize((224, 224), BILINEAR, box=random_crop(*im.size, rng))
        if rng.random() < 0.5:
            im = im.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        return normalise(im)


def evaluate(file):
    im = picture(file)
    s = 256 / min(im.size)
    w, h = round(im.width * s), round(im.height * s)
    x, y = (w - 224) // 2, (h - 224) // 2
    return normalise(im.resize((w, h), BILINEAR).crop((x, y, x + 224, y + 224)))


class Mnist:
    """A random-access source of samples."""

    def __init__(self):
        self.x, self.y = meter.mnist(args.data)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def scale(batch):
    return batch[0].astype(np.float32) / 255, np.eye(10, dtype=np.float32)[batch[1]]


source = Mnist() if args.workload == "mnist" else meter.jpegs(args.data)
data = grain.MapDataset.source(source).seed(1)
if args.shuffle:
    data = data.shuffle()
if args.workload == "mnist":
    data = data.batch(args.batch).map(scale)
elif args.workload == "decode":
    data = data.map(lambda f: np.array(picture(f)))
elif args.workload == "train":
    data = data.random_map(Train()).batch(args.batch)
else:
    data = data.map(evaluate if args.workload == "eval" else lambda f: normalise(picture(f))).batch(args.batch)
STEPS = len(data)
# Threads: worker processes are slower here and need twice the memory.
ahead = 64 if args.workload == "decode" else 8
batches = iter(data.repeat().to_iter_dataset(grain.ReadOptions(num_threads=args.threads, prefetch_buffer_size=ahead)))


def epoch():
    for _ in range(STEPS):
        batch = next(batches)
        x = batch[0] if args.workload == "mnist" else batch
        x.flat[0]
        yield 1 if args.workload == "decode" else len(x)


meter.measure(args, importlib.metadata.version("grain"), epoch)
os._exit(0)  # its threads do not let the interpreter end
