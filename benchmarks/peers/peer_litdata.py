"""LitData: its chunks on the local disk, shuffled; torchvision makes the pictures in its workers."""
import meter

args = meter.arguments(sets=True)

import litdata
import torch
import torchvision

import torchpictures


class Pictures(litdata.StreamingDataset):
    def __init__(self, *at, **options):
        super().__init__(*at, **options)
        self.make = torchpictures.Maker(args.workload)

    def __getitem__(self, i):
        return self.make(super().__getitem__(i)["jpg"])


def epochs():
    data = Pictures(args.set, shuffle=args.shuffle, seed=1, drop_last=False)
    n = torchpictures.workers(args.threads)
    loader = litdata.StreamingDataLoader(data, batch_size=args.batch, num_workers=n, persistent_workers=n > 0, drop_last=False)

    def epoch():
        for x in loader:
            x.view(-1)[0].item()
            yield len(x)
    return epoch


meter.imported()
meter.measure(args, f"{litdata.__version__}, PyTorch {torch.__version__}, torchvision {torchvision.__version__}", epochs())
