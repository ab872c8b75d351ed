"""WebDataset: tar shards as streams, in a random order, behind a buffer that shuffles; torchvision makes the pictures in its workers."""
import meter

args = meter.arguments(sets=True)

import glob

import torch
import torchvision
import webdataset as wds

import torchpictures

URLS = sorted(glob.glob(f"{args.set}/*.tar"))


def epochs():
    data = wds.WebDataset(URLS, shardshuffle=len(URLS) if args.shuffle else False, seed=1, empty_check=False)
    if args.shuffle:
        data = data.shuffle(1000)
    data = data.to_tuple("jpg").map_tuple(torchpictures.Maker(args.workload)).batched(args.batch).repeat()
    batches = iter(wds.WebLoader(data, batch_size=None, num_workers=torchpictures.workers(args.threads)))

    def epoch():
        for _ in range(len(URLS) * 100 // args.batch):  # the stream has no end
            x = next(batches)[0]
            x.view(-1)[0].item()
            yield len(x)
    return epoch


meter.imported()
meter.measure(args, f"{wds.__version__}, PyTorch {torch.__version__}, torchvision {torchvision.__version__}", epochs())
