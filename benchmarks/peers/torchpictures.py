"""What the peers that stand on PyTorch share: torchvision's decoder and transforms (v2), and how a picture is made."""
import torch
from torchvision.io import ImageReadMode, decode_jpeg
from torchvision.transforms import v2

import meter

torch.set_num_threads(1)  # the workers are the parallelism
CROP = [v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip()]


def transform(workload, first=()):
    """The transforms of a workload, as one; first come before those that make float32."""
    finish = [*first, v2.ToDtype(torch.float32, scale=True), v2.Normalize(meter.MEAN, meter.STD)]
    return v2.Compose({
        "train": [*CROP, *finish],
        "strong": [*CROP, v2.ColorJitter(0.4, 0.4, 0.4, 0.1), *finish, v2.RandomErasing()],
        "eval": [v2.Resize(256, antialias=True), v2.CenterCrop(224), *finish],
        "cifar": finish,
    }[workload])


def decode(encoded):
    """A picture of 3×H×W bytes from a tensor of a JPEG file's bytes."""
    return decode_jpeg(encoded, ImageReadMode.RGB)


class Maker:
    """Makes a sample from the bytes of a file. It can be sent to a worker process."""

    def __init__(self, workload):
        self.transform = transform(workload)

    def __call__(self, data):
        return self.transform(decode(torch.frombuffer(bytearray(data), dtype=torch.uint8)))


def workers(threads):
    """Worker processes of a DataLoader: one more than processors is a little faster than as many; for one, none."""
    return threads + 1 if threads > 1 else 0
