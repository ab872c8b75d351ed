"""Token readers beside each other.

    python3 benchmarks/peers/tokens.py [--tokens 1000000000] [--rounds 3]

makes a file of uint16 tokens and its Megatron-LM index in a temporary folder, reads shuffled sequences of 1,024 from it with
every program in turns, prints a table, and removes the file. The files are in the page cache. Programs are compared by the
seconds of a processor, as a rate depends on what else the machine does.
"""
import argparse
import json
import math
import os
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from programs import HERE, ROOT, SetupError, call, last_line

PACKAGES = ("torch==2.15.0", "megatron-core==0.16.1", "numpy==2.4.6")

MAKE = """
import struct, sys
import numpy as np
base, tokens = sys.argv[1], int(sys.argv[2])
random = np.random.default_rng(1)
lengths = np.maximum(1, np.exp(random.normal(5.5, 0.9, int(tokens / 300)))).astype(np.int64)
ends = np.cumsum(lengths)
ends = np.append(ends[ends < tokens], tokens)
lengths = np.diff(ends, prepend=0).astype(np.int32)
with open(base + ".bin", "wb") as f:
    at = 0
    while at < tokens:
        n = min(tokens - at, 1 << 24)
        part = random.integers(10, 50_000, n, dtype=np.uint16)
        a, b = np.searchsorted(ends, [at + 1, at + n + 1])
        part[ends[a:b] - 1 - at] = 0
        part.tofile(f)
        at += n
with open(base + ".idx", "wb") as f:
    f.write(b"MMIDIDX\\0\\0" + struct.pack("<QBQQ", 1, 8, len(lengths), len(lengths) + 1))
    lengths.tofile(f)
    (2 * (ends - lengths)).astype(np.int64).tofile(f)
    np.arange(len(lengths) + 1, dtype=np.int64).tofile(f)
print(len(lengths))
"""


def programs(python, exe, base, cache):
    def go(*flags):
        return [exe, *flags]

    def peer(variant, *flags):
        return [python, HERE / "peer_tokens.py", "--variant", variant, "--file", base, "--cache", cache, *flags]

    flat, index = ("-file", f"{base}.bin"), ("-file", f"{base}.idx")
    return {
        "plankton, flat, cut": go(*flat),
        "plankton, index, cut": go(*index),
        "plankton, index, documents permuted, cut": go(*index, "-permute"),
        "plankton, index, packed by 1,000 documents": go(*index, "-pack", "1000"),
        "plankton, index, documents permuted, packed": go(*index, "-permute", "-pack", "1000"),
        "plankton, flat with `KeepDocuments`, packed": go(*flat, "-end", "-pack", "1000", "-keep"),
        "Megatron-LM's `GPTDataset`, `DataLoader` in process": peer("megatron"),
        "Megatron-LM's `GPTDataset`, `DataLoader` with 2 processes": peer("megatron", "--workers", "2"),
        "`np.memmap` as a `Dataset`, `DataLoader` in process": peer("memmap"),
        "`np.memmap` as a `Dataset`, `DataLoader` with 2 processes": peer("memmap", "--workers", "2"),
        "`np.memmap`, batches by `torch.stack` (nanoGPT's way)": peer("nanogpt"),
    }


def measure(command, tokens):
    flag = "--tokens" if str(command[1]).endswith(".py") else "-tokens"
    p = subprocess.run([str(c) for c in [*command, flag, tokens]], cwd=HERE, capture_output=True, text=True)
    if p.returncode:
        raise SetupError(last_line(p.stderr))
    return json.loads(p.stdout.strip().splitlines()[-1])


def spread(values, digits=2):
    values = sorted(values)
    middle = statistics.median(values)
    return f"{middle:.{digits}f} ({values[0]:.{digits}f}–{values[-1]:.{digits}f})"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--tokens", type=int, default=1_000_000_000)
    p.add_argument("--read", type=int, default=0, help="tokens that a run reads; default an epoch")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--python", help="an interpreter that has the packages; default a new virtual environment")
    p.add_argument("--folder", help="where the temporary folder is made")
    a = p.parse_args()
    work = Path(tempfile.mkdtemp(dir=a.folder))
    try:
        python = a.python
        if python is None:
            call(sys.executable, "-m", "venv", work / "venv")
            python = work / "venv" / "bin" / "python"
            call(python, "-m", "pip", "install", "--quiet", *PACKAGES)
        exe = work / "tokens"
        call("go", "build", "-o", exe, "./benchmarks/peers/tokens")
        base = work / "data"
        documents = int(call(python, "-c", MAKE, base, a.tokens))
        print(f"{a.tokens:,} tokens of {documents:,} documents, sequences of 1,024 shuffled, batches of 32, {a.rounds} rounds\n")
        runs = {}
        for round in range(a.rounds):
            for name, command in programs(python, exe, base, work / "cache").items():
                try:
                    runs.setdefault(name, []).append(measure(command, a.read))
                except SetupError as e:
                    print(f"{name}: {e}", file=sys.stderr)
                    continue
                print(f"round {round}: {name}: {runs[name][-1]}", file=sys.stderr, flush=True)
        table(runs)
    finally:
        shutil.rmtree(work)


def table(runs):
    """Ratios are formed within a round, to plankton's first row."""
    base = next(iter(runs.values()))
    print("| | first batch, s: the first time | later | CPU-s until it | million tokens per CPU-s | per s | peak RSS, MiB | CPU, × the first row |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, of in runs.items():
        rate = [r["tokens"] / r["cpu_s"] / 1e6 for r in of]
        ratio = [(r["cpu_s"] / r["tokens"]) / (b["cpu_s"] / b["tokens"]) for r, b in zip(of, base)]
        later = statistics.median(r["open_s"] for r in of[1:] or of)
        print(f"| {name} | {of[0]['open_s']:.3f} | {later:.3f} | {statistics.median(r['open_cpu_s'] for r in of):.2f} | {spread(rate, 0)} "
              f"| {statistics.median(r['tokens'] / r['wall_s'] for r in of) / 1e6:.0f} | {statistics.median(r['peak_rss_mib'] for r in of):.0f} | {spread(ratio)} |")


if __name__ == "__main__":
    try:
        main()
    except SetupError as e:
        sys.exit(f"tokens.py: {e}")
