"""MosaicML Streaming: MDS shards on the local disk, shuffled by its default; torchvision makes the pictures in its workers."""
import meter

args = meter.arguments(sets=True)

import streaming
import torch
import torchvision
from streaming.base.util import clean_stale_shared_memory

import torchpictures


class Pictures(streaming.StreamingDataset):
    def __init__(self, **options):
        super().__init__(**options)
        self.make = torchpictures.Maker(args.workload)

    def __getitem__(self, i):
        return self.make(super().__getitem__(i)["jpg"])


def epochs():
    clean_stale_shared_memory()  # what another run has left
    data = Pictures(local=args.set, shuffle=args.shuffle, shuffle_seed=1, batch_size=args.batch)
    n = torchpictures.workers(args.threads)
    loader = streaming.StreamingDataLoader(data, batch_size=args.batch, num_workers=n, persistent_workers=n > 0)

    def epoch():
        for x in loader:
            x.view(-1)[0].item()
            yield len(x)
    return epoch


meter.imported()
meter.measure(args, f"{streaming.__version__}, PyTorch {torch.__version__}, torchvision {torchvision.__version__}", epochs())
