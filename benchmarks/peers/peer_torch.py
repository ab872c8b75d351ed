"""PyTorch's DataLoader with torchvision's transforms; tvio decodes with torchvision.io, pillow with Pillow."""
import meter

args = meter.arguments("tvio", "pillow")

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
import torchvision
from PIL import Image, __version__ as pillow_version
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler, SequentialSampler
from torchvision.datasets import ImageFolder
from torchvision.io import read_file
from torchvision.transforms import v2

import torchpictures

PILLOW = args.variant == "pillow"
TRANSFORM = {w: torchpictures.transform(w, [v2.ToImage()] if PILLOW else ()) for w in ("train", "strong", "eval", "cifar")}


def decode(file):
    if PILLOW:
        return Image.open(file).convert("RGB")
    return torchpictures.decode(read_file(file))


class Pictures(Dataset):
    def __init__(self):
        # For the first batch of a start, torchvision's own listing of a folder of folders.
        self.files = [file for file, _ in ImageFolder(args.data).samples] if args.first else meter.jpegs(args.data)

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        return TRANSFORM[args.workload](decode(self.files[i]))


class Mnist(Dataset):
    """Whole batches at once: sample by sample is seven times slower."""

    def __init__(self):
        self.x, self.y = (torch.from_numpy(v) for v in meter.mnist(args.data))

    def __len__(self):
        return len(self.x)

    def __getitems__(self, ix):
        return self.x[ix].float() / 255, torch.nn.functional.one_hot(self.y[ix].long(), 10).float()


def decoded():
    """Threads: worker processes lose a millisecond a picture in handing over pictures of full size."""
    files = meter.jpegs(args.data)
    pool = ThreadPoolExecutor(args.threads)

    def epoch():
        for x in pool.map(lambda f: np.array(decode(f)) if PILLOW else decode(f), files):
            x[0, 0, 0].item()
            yield 1
    return epoch


class Endless:
    """Goes through a sampler again and again, so that the workers do not stop between epochs."""

    def __init__(self, sampler):
        self.sampler = sampler

    def __iter__(self):
        while True:
            yield from self.sampler


def loaded():
    data = Mnist() if args.workload == "mnist" else Pictures()
    batches = BatchSampler(RandomSampler(data) if args.shuffle else SequentialSampler(data), args.batch, drop_last=False)
    if args.workload == "mnist":
        # In process: handing a batch over costs more than making it.
        loader = DataLoader(data, batch_sampler=Endless(batches), collate_fn=lambda batch: batch)
    else:
        loader = DataLoader(data, batch_sampler=Endless(batches), num_workers=torchpictures.workers(args.threads))
    it = iter(loader)

    def epoch():
        for _ in range(len(batches)):
            batch = next(it)
            x = batch[0] if args.workload == "mnist" else batch
            x.view(-1)[0].item()
            yield len(x)
    return epoch


meter.imported()
version = f"{torch.__version__}, torchvision {torchvision.__version__}" + (f", Pillow {pillow_version}" if PILLOW else "")
meter.measure(args, version, decoded() if args.workload == "decode" else loaded())
