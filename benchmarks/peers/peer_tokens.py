"""Readers of token files as Python programs have them: Megatron-LM's GPTDataset, a map-style Dataset over numpy.memmap, and
batches cut from a memmap as nanoGPT does. Prints one line of JSON with the keys of the Go program in tokens/."""
import argparse
import json
import logging
import time

import meter

p = argparse.ArgumentParser()
p.add_argument("--variant", choices=["megatron", "memmap", "nanogpt"], required=True)
p.add_argument("--file", required=True, help="base of the names, without .bin and .idx")
p.add_argument("--cache", help="folder for Megatron's indices")
p.add_argument("--length", type=int, default=1024)
p.add_argument("--batch", type=int, default=32)
p.add_argument("--tokens", type=int, default=0, help="end after so many tokens; default an epoch")
p.add_argument("--workers", type=int, default=0, help="worker processes")
args = p.parse_args()

import numpy as np
import torch

if args.variant == "megatron":
    from megatron.core.datasets.gpt_dataset import GPTDataset, GPTDatasetConfig
    from megatron.core.datasets.indexed_dataset import IndexedDataset
    from megatron.core.datasets.utils import Split

torch.set_num_threads(1)
L = args.length


class Memmap(torch.utils.data.Dataset):
    """Each item is a tensor of tokens and one of targets."""

    def __init__(self, path):
        self.tokens = np.memmap(path, dtype=np.uint16, mode="r")

    def __len__(self):
        return (len(self.tokens) - 1) // L

    def __getitem__(self, i):
        x = torch.from_numpy(self.tokens[i * L : i * L + L + 1].astype(np.int64))
        return x[:-1], x[1:]


def nanogpt():
    tokens = np.memmap(args.file + ".bin", dtype=np.uint16, mode="r")
    order = np.random.permutation((len(tokens) - 1) // L)
    for at in range(0, len(order) - args.batch + 1, args.batch):
        ix = order[at : at + args.batch] * L
        x = torch.stack([torch.from_numpy(tokens[i : i + L].astype(np.int64)) for i in ix])
        y = torch.stack([torch.from_numpy(tokens[i + 1 : i + 1 + L].astype(np.int64)) for i in ix])
        yield x, y


def megatron():
    logging.disable(logging.WARNING)

    class Tokenizer:
        eod, pad, vocab_size, unique_identifiers = 0, -1, 50_000, {"class": "none"}

    # No attention mask is made, which would take L×L elements, and positions are not reset: both are less work.
    config = GPTDatasetConfig(
        random_seed=1, sequence_length=L, blend=([args.file], None), split="1", reset_position_ids=False, reset_attention_mask=False,
        eod_mask_loss=False, create_attention_mask=False, path_to_cache=args.cache, tokenizer=Tokenizer(), mid_level_dataset_surplus=0.0)
    indexed = IndexedDataset(args.file, mmap=True)
    return GPTDataset(indexed, args.file, np.arange(len(indexed), dtype=np.int32), None, Split.train, config)


def batches():
    if args.variant == "nanogpt":
        yield from nanogpt()
        return
    if args.variant == "memmap":
        data, how = Memmap(args.file + ".bin"), dict(shuffle=True)
    else:
        data, how = megatron(), dict(shuffle=False)  # it shuffles itself
    yield from torch.utils.data.DataLoader(data, batch_size=args.batch, num_workers=args.workers, drop_last=True, **how)


start, cpu = time.perf_counter(), meter.cpu_seconds()
first, tokens, peak = None, 0, meter.PeakMemory()
peak.start()
for batch in batches():
    x = batch["tokens"] if isinstance(batch, dict) else batch[0]
    x.view(-1)[0].item()
    if first is None:
        first, age, opened, opened_cpu = time.perf_counter(), meter.process_age(), time.perf_counter() - start, meter.cpu_seconds() - cpu
        cpu = meter.cpu_seconds()
        continue
    tokens += x.numel()
    if 0 < args.tokens <= tokens:
        break
print(json.dumps(dict(first_batch_s=age, open_s=opened, open_cpu_s=opened_cpu, tokens=tokens, wall_s=time.perf_counter() - first,
                      cpu_s=meter.cpu_seconds() - cpu, peak_rss_mib=peak.stop())), flush=True)
