#!/usr/bin/env python3
"""Measures workers in other processes: what rows made elsewhere cost the training program, and how much faster both are.

    python3 benchmarks/remoterows.py --data DIR [--rounds 5] [--epochs 8] [--exe PLANKTON]

DIR is a folder of JPEG files. The trainer (plankton bench, the workload train) has the first processor and one worker, and a worker
(plankton serve) the second. All kinds of runs take turns; ratios are formed within a round, with the trainer alone and the same definition. The first epoch of each
run is not timed. Prints the table of docs/remote.md, and each run on standard error. Linux; needs Go unless --exe is given.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

WAYS = ["TCP", "a Unix socket"]
CUTS = {"float32": [], "bytes (`--remote-cut`)": ["--remote-cut"]}


class Run:
    """A trainer, perhaps with a worker."""

    def __init__(self, a, folder):
        self.a, self.folder, self.sockets = a, folder, 0
        self.first, self.second = sorted(os.sched_getaffinity(0))[:2]

    def start(self, cpu, *args):
        return subprocess.Popen([self.a.exe, *args], stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))

    def address(self, way):
        if way == "TCP":
            return "127.0.0.1:0"
        self.sockets += 1
        return f"unix:{self.folder}/{self.sockets}"

    def __call__(self, cut, way=None, only=False):
        row = ["--workload", "train", "--data", self.a.data, "--threads", "1", "--seed", "1", "--json", *CUTS[cut]]
        flags, worker = ["--epochs", str(self.a.epochs)], None
        try:
            if way:
                worker = self.start(self.second, "serve", *row, "--listen", self.address(way))
                flags += ["--prefetch", "4", "--remote", json.loads(worker.stdout.readline())["listening"]] + ["--remote-only"] * only
            trainer = self.start(self.first, "bench", *row, *flags)
            text, _ = trainer.communicate()
            if trainer.returncode:
                sys.exit(f"remoterows.py: plankton bench ended with {trainer.returncode}")
        finally:
            if worker:
                worker.kill()
                worker.wait()
        o = json.loads(text)
        elsewhere = o.get("remote", {}).get("rows", 0) / o["images"]
        return {"cpu_ms": o["cpu_s_per_1000"], "rate": o["images_per_s"], "elsewhere": elsewhere, "load": os.getloadavg()[0]}


def spread(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f} … {max(values):.2f})"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", required=True)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--epochs", type=int, default=8)
    p.add_argument("--exe", help="the program plankton; default: built from this working tree")
    a = p.parse_args()
    if a.rounds < 1 or a.epochs < 2 or len(os.sched_getaffinity(0)) < 2:
        p.error("at least a round, two epochs and two processors are needed")
    rounds = []
    with tempfile.TemporaryDirectory() as folder:
        if not a.exe:
            a.exe = os.path.join(folder, "plankton")
            subprocess.run(["go", "build", "-o", a.exe, "./cmd/plankton"], check=True)
        a.exe = os.path.abspath(a.exe)
        run = Run(a, folder)
        kinds = [(cut, way, only) for cut in CUTS for way, only in [(None, False)] + [(way, only) for way in WAYS for only in (True, False)]]
        for number in range(1, a.rounds + 1):
            rounds.append({kind: run(*kind) for kind in kinds})
            for kind, r in rounds[-1].items():
                print(json.dumps({"round": number, "crosses": kind[0], "way": kind[1], "only": kind[2], **r}), file=sys.stderr, flush=True)
    print("| crosses | way | trainer's CPU ÷ alone, `--remote-only` | its CPU, ms a picture | rows made elsewhere | rate ÷ alone, both make rows | trainer's CPU ÷ alone, both |")
    print("| --- | --- |" + " ---: |" * 5)
    for cut in CUTS:
        alone = [r[cut, None, False] for r in rounds]
        for way in WAYS:
            only, both = ([r[cut, way, o] for r in rounds] for o in (True, False))
            over = lambda runs, key: spread([x[key] / y[key] for x, y in zip(runs, alone)])
            print("|", " | ".join([cut, way, over(only, "cpu_ms"), spread([x["cpu_ms"] for x in only]), spread([x["elsewhere"] for x in only]),
                                   over(both, "rate"), over(both, "cpu_ms")]), "|")
        print(f"| {cut} | alone | 1 | {spread([x['cpu_ms'] for x in alone])} | 0 | 1 | 1 |")
    loads = [r["load"] for x in rounds for r in x.values()]
    print(f"\nLoad of the machine, of a minute: {min(loads):.1f} to {max(loads):.1f}.")


if __name__ == "__main__":
    main()
