"""LanceDB: its streaming data set over a table on the local disk, shuffled row by row; torchvision makes the pictures in its threads."""
import meter

args = meter.arguments(sets=True)

import lancedb
import torch
import torchvision
from lancedb.streaming import StreamingDataLoader, StreamingDataset

import torchpictures

MAKE = torchpictures.Maker(args.workload)


def pictures(batch):
    """The pictures of an Arrow batch, one of which a thread makes at a time."""
    return [MAKE(data.as_buffer()) for data in batch.column("jpg")]


def epochs():
    table = lancedb.connect(args.set).open_table("pictures")
    count = 0

    def epoch():
        nonlocal count
        data = StreamingDataset(
            table, shuffle=args.shuffle, shuffle_seed=1, epoch=count, transform=pictures, transform_parallelism=args.threads,
            transform_queue_depth=4)
        count += 1
        for x in StreamingDataLoader(data, batch_size=args.batch, num_workers=0):
            x.view(-1)[0].item()
            yield len(x)
    return epoch


meter.imported()
meter.measure(args, f"{lancedb.__version__}, PyTorch {torch.__version__}, torchvision {torchvision.__version__}", epochs())
