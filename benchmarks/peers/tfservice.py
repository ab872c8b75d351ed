#!/usr/bin/env python3
"""Measures plankton's workers in other processes beside tf.data service.

    python3 benchmarks/peers/tfservice.py --data DIR

The trainer runs on the first processor and all else on the second. It takes the batches of train and does nothing
with them. Then, of two workers, one is killed in the middle of an epoch, and the trainer counts what it got.
README.md says what is measured. Linux; needs Python 3.11 with venv, and Go.
"""
import argparse
import collections
import json
import os
import random
import resource
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

sys.dont_write_bytecode = True  # the repository stays clean
import meter

BATCH = 64
MIDDLE = 5  # batches of an epoch before a worker is killed
PATIENCE_S = 75  # without a batch, until an epoch is given up: more than the minute after which a dispatcher misses a worker
LIMIT_S = 150
SETTINGS = {"auto": "AUTO", "none": None}  # of compression


def tensorflow():
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import tensorflow as tf
    return tf


def cpu_seconds():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime


# The processes of tf.data service, in the environment of lock/tfdata.txt.


def dispatcher(a):
    service = tensorflow().data.experimental.service
    addresses = a.address if a.sharding == "DATA" else None  # static sharding has a fixed list of workers
    server = service.DispatchServer(service.DispatcherConfig(worker_addresses=addresses))
    print(server.target, flush=True)
    server.join()


def worker(a):
    service = tensorflow().data.experimental.service
    address = a.address[0]
    server = service.WorkerServer(service.WorkerConfig(
        dispatcher_address=a.dispatcher.split("://")[1], worker_address=address, port=int(address.split(":")[1])))
    print("ready", flush=True)
    server.join()


def batches(a, files, endless):
    """Pictures with the number of their file. In one epoch the list is shuffled here, so that no worker holds a shuffle buffer that could be lost."""
    tf = tensorflow()
    from tfpictures import train

    ids = list(range(len(files)))
    if not endless:
        random.shuffle(ids)
    data = tf.data.Dataset.from_tensor_slices(([files[i] for i in ids], ids))
    if endless:
        data = data.shuffle(len(files)).repeat()
    data = data.map(lambda file, i: (train(file), i), tf.data.AUTOTUNE).batch(BATCH).prefetch(tf.data.AUTOTUNE)
    if a.dispatcher:
        service = tf.data.experimental.service
        data = data.apply(service.distribute(service.ShardingPolicy[a.sharding], a.dispatcher, compression=SETTINGS[a.compression]))
        data = data.prefetch(tf.data.AUTOTUNE)
    options = tf.data.Options()
    options.deterministic = False
    return data.with_options(options), tf.__version__


def trainer(a):
    """Whole epochs, the first of which warms up."""
    files = meter.jpegs(a.data)
    data, version = batches(a, files, endless=True)
    steps, n, batch = -(-len(files) // BATCH), 0, iter(data)
    for _ in range(steps):
        next(batch)
    start, cpu = time.perf_counter(), cpu_seconds()
    for _ in range(steps * (a.epochs - 1)):
        n += len(next(batch)[1])
    wall, cpu = time.perf_counter() - start, cpu_seconds() - cpu
    print(json.dumps(dict(images=n, wall_s=wall, images_per_s=n / wall, cpu_s_per_1000=1000 * cpu / n, version=version)), flush=True)
    os._exit(0)  # without a wait for what nobody will read


def count(a):
    """One epoch, in the middle of which a worker is killed. ended is whether the trainer was told that the epoch is over."""
    files = meter.jpegs(a.data)
    data, version = batches(a, files, endless=False)
    seen, slowest = collections.Counter(), 0.0

    def end(ended):
        n = seen.total()
        print(json.dumps(dict(images=n, lost=len(files) - len(seen), repeated=n - len(seen), ended=ended, slowest_step_s=slowest, version=version)), flush=True)
        os._exit(0)

    def wait():
        timer = threading.Timer(PATIENCE_S, end, [False])
        timer.start()
        return time.perf_counter(), timer

    last, timer = wait()
    for step, (_, ids) in enumerate(data, 1):
        timer.cancel()
        slowest = max(slowest, time.perf_counter() - last)
        seen.update(ids.numpy().tolist())
        if step == MIDDLE:
            print("middle", flush=True)
        last, timer = wait()
    timer.cancel()
    end(True)


# What starts and ends processes.


class Failed(Exception):
    """Says in one line why a run has no figures."""


class Process:
    """A process on one processor."""

    def __init__(self, cpu, command):
        self.p = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}, preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
        self.errors = collections.deque(maxlen=20)
        threading.Thread(target=lambda: self.errors.extend(self.p.stderr), daemon=True).start()
        self.limit = threading.Timer(LIMIT_S, self.kill)
        self.limit.daemon = True
        self.limit.start()

    def line(self):
        """The next line that it prints."""
        if text := self.p.stdout.readline().strip():
            return text
        status = self.p.wait()
        raise Failed(f"no result after {LIMIT_S} s" if status == -signal.SIGKILL else f"exit status {status}: {' '.join(self.errors)[-300:]}")

    def cpu_seconds(self):
        fields = Path(f"/proc/{self.p.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / meter.TICKS

    def kill(self):
        self.limit.cancel()
        self.p.kill()
        self.p.wait()


class Side:
    """The processes of one run: a trainer, and others that are ended with it."""

    def __init__(self, a):
        self.first, self.second = sorted(os.sched_getaffinity(0))[:2]
        self.a, self.all = a, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for p in self.all:
            p.kill()

    def start(self, *command, cpu=None):
        p = Process(self.second if cpu is None else cpu, command)
        self.all.append(p)
        return p

    def train(self, *command):
        """Runs a trainer to its end; returns the JSON that it prints, with the processor time of the others."""
        others = [(p, p.cpu_seconds()) for p in self.all]
        p = self.start(*command, cpu=self.first)
        result = json.loads(p.line())
        made = self.a.epochs * self.a.images
        return {**result, "others_cpu_s_per_1000": 1000 * sum(o.cpu_seconds() - before for o, before in others) / made}


def address():
    with socket.socket() as s:
        s.bind(("localhost", 0))
        return f"localhost:{s.getsockname()[1]}"


class Service:
    """tf.data service: a dispatcher and workers."""

    def __init__(self, side, workers=1, sharding="OFF", compression="auto"):
        a = side.a
        self.side, self.addresses = side, [address() for _ in range(workers)]
        self.script = [a.python, Path(__file__).resolve()]
        self.flags = ["--data", a.pictures, "--epochs", a.epochs, "--sharding", sharding, "--compression", compression]
        fixed = [w for address in self.addresses for w in ("--address", address)]
        self.target = side.start(*self.script, "--role", "dispatcher", "--sharding", sharding, *fixed).line()
        self.flags += ["--dispatcher", self.target]
        self.workers = [self.worker(address) for address in self.addresses]

    def worker(self, address):
        p = self.side.start(*self.script, "--role", "worker", "--dispatcher", self.target, "--address", address)
        p.line()
        return p

    def role(self, role):
        return [*self.script, "--role", role, *self.flags]


def tf_alone(side):
    a = side.a
    return side.train(a.python, Path(__file__).resolve(), "--role", "trainer", "--data", a.pictures, "--epochs", a.epochs)


def tf_service(compression):
    return lambda side: side.train(*Service(side, compression=compression).role("trainer"))


def tf_kill(sharding, again):
    """One of two workers is killed; with again it is started at once at the same address."""
    def run(side):
        service = Service(side, workers=2, sharding=sharding)
        p = side.start(*service.role("count"), cpu=side.first)
        p.line()
        service.workers[0].kill()
        if again:
            service.worker(service.addresses[0])
        return json.loads(p.line())
    return run


def serve(side, *flags):
    a = side.a
    return side.start(a.plankton, "serve", "--workload", "train", "--data", a.pictures, *flags).line().split()[-1]


def bench(a, *flags):
    return [a.plankton, "bench", "--json", "--workload", "train", "--data", a.pictures, "--batch", BATCH, "--seed", 1, *flags]


def plankton(*flags, remote=False, cut=False):
    def run(side):
        row = ["--remote-cut"] if cut else []
        more = [*row, *(["--remote", serve(side, *row)] if remote else [])]
        return side.train(*bench(side.a, "--epochs", side.a.epochs, *flags, *more))
    return run


def rows(url):
    """How many a worker of plankton has made."""
    text = urllib.request.urlopen(url + "/metrics").read().decode()
    return next(float(line.split()[1]) for line in text.splitlines() if line.startswith("plankton_worker_rows_total "))


def plankton_kill(side):
    """One of two workers is killed when it has made half of the first MIDDLE batches."""
    a = side.a
    alone = json.loads(side.start(*bench(a, "--digest"), cpu=side.first).line())
    urls = [serve(side), serve(side)]
    victim = side.all[-2]
    p = side.start(*bench(a, "--digest", "--remote-only", "--remote", ",".join(urls)), cpu=side.first)
    while p.p.poll() is None and rows(urls[0]) < MIDDLE * BATCH / 2:
        time.sleep(0.005)
    victim.kill()
    result = json.loads(p.line())
    if result["digests"] != alone["digests"]:
        raise Failed("the digests of the batches differ from those of one process")
    gone = next(w for w in result["remote"]["workers"] if w["name"] == urls[0])
    if not gone["downs"]:
        raise Failed("the epoch was over when the worker was killed")
    return dict(images=result["images"], lost=0, repeated=0, ended=True, rows_of_killed=gone["rows"])


OURS = "plankton, `--remote-only`"
RUNS = {  # with what they are compared: one process that does all
    "plankton, alone": (plankton(), "plankton, alone"),
    "plankton, alone, no entropy index": (plankton("--entropy-index", "off"), "plankton, alone"),
    OURS: (plankton("--remote-only", remote=True), "plankton, alone"),
    "plankton, beside the worker": (plankton(remote=True), "plankton, alone"),
    "plankton with a cut, alone": (plankton(cut=True), "plankton with a cut, alone"),
    "plankton with a cut, `--remote-only`": (plankton("--remote-only", remote=True, cut=True), "plankton with a cut, alone"),
    "tf.data, alone": (tf_alone, "tf.data, alone"),
    "tf.data service": (tf_service("auto"), "tf.data, alone"),
    "tf.data service, `compression=None`": (tf_service("none"), "tf.data, alone"),
}
KILLS = {
    OURS: plankton_kill,
    "tf.data service, dynamic sharding": tf_kill("DYNAMIC", False),
    "tf.data service, dynamic sharding, started again": tf_kill("DYNAMIC", True),
    "tf.data service, static sharding, started again": tf_kill("DATA", True),
}


def spread(values, digits=2):
    if not values:
        return "–"
    mid, low, high = (f"{v:,.{digits}f}" for v in (statistics.median(values), min(values), max(values)))
    return mid if low == high else f"{mid} ({low} … {high})"


def tables(records):
    """Medians with the range; ratios are formed within a round."""
    by = {(r["kind"], r["name"], r["round"]): r for r in records if "error" not in r}

    def values(name, key, over=None, kind="rate"):
        rounds = [n for k, m, n in by if (k, m) == (kind, name) and (over is None or (kind, over, n) in by)]
        return [by[kind, name, n][key] / (by[kind, over, n][key] if over else 1) for n in rounds]

    cpu, rate = "cpu_s_per_1000", "images_per_s"
    out = ["| | trainer's CPU ÷ alone | trainer's CPU ÷ plankton's | rate ÷ alone | rate ÷ plankton's | trainer's CPU-s per 1,000 | the others' | images/s |\n| --- |" + " ---: |" * 7]
    for name, (_, alone) in RUNS.items():
        columns = [values(name, key, over) for key in (cpu, rate) for over in (alone, OURS)] + [values(name, cpu), values(name, "others_cpu_s_per_1000")]
        out.append(f"| {name} | {' | '.join(map(spread, columns))} | {spread(values(name, rate), 0)} |")
    out.append("\n| one of two workers killed | samples lost | samples repeated | epochs that ended |\n| --- | ---: | ---: | ---: |")
    for name in KILLS:
        ended = values(name, "ended", kind="kill")
        out.append(f"| {name} | {spread(values(name, 'lost', kind='kill'), 0)} | {spread(values(name, 'repeated', kind='kill'), 0)} | {sum(map(bool, ended))} of {len(ended)} |")
    out += [f"\n{r['name']}, round {r['round']}: {r['error']}" for r in records if "error" in r]
    return "\n".join(out)


def main():
    import run
    from programs import PROGRAMS, SetupError, make_set

    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "plankton-peers"
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", type=Path, default=os.environ.get("PLANKTON_DATA"), help="folder with imagenet-sample (default: $PLANKTON_DATA)")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--epochs", type=int, default=5, help="of 1,200 samples or a few more, in each run; the first one is not timed (default 5)")
    p.add_argument("--runs", choices=["rate", "kill"], help="only these (default: both)")
    p.add_argument("--cache", type=Path, default=cache, help="where environments, programs and sets are kept")
    p.add_argument("--out", type=Path, help="folder for runs.jsonl and report.md (default: tfservice in the cache)")
    a = p.parse_args()
    if a.data is None:
        p.error("--data is missing, and PLANKTON_DATA is not set")
    if a.rounds < 1 or a.epochs < 2 or len(os.sched_getaffinity(0)) < 2:
        p.error("at least a round, two epochs and two processors are needed")
    a.cache = a.cache.resolve()
    a.cache.mkdir(parents=True, exist_ok=True)
    a.out = a.out or a.cache / "tfservice"
    a.out.mkdir(parents=True, exist_ok=True)
    try:
        for name in ("tfdata", "plankton"):
            PROGRAMS[name].setup(a.cache)
        a.python, a.plankton = PROGRAMS["tfdata"].python, PROGRAMS["plankton"].exe
        a.pictures = make_set(sys.executable, a.cache / "sets", "copies", a.data / "imagenet-sample")
    except SetupError as e:
        sys.exit(f"tfservice.py: {e}")
    files = meter.jpegs(a.pictures)
    for f in files:
        Path(f).read_bytes()
    a.images = len(files)
    records, about = [], {"rounds": a.rounds, "epochs": a.epochs, "images": a.images, "machine": run.machine()}
    with open(a.out / "runs.jsonl", "w") as f:
        f.write(json.dumps(about) + "\n")
        for number in range(1, a.rounds + 1):
            for kind, runs in {"rate": {name: go for name, (go, _) in RUNS.items()}, "kill": KILLS}.items():
                for name, go in runs.items() if a.runs in (None, kind) else ():
                    load = os.getloadavg()[0]  # of the minute before
                    try:
                        with Side(a) as side:
                            result = go(side)
                    except Failed as e:
                        result = {"error": str(e)}
                    for long in ("digests", "verdict", "skipped", "entropy_index"):
                        result.pop(long, None)
                    records.append({"round": number, "kind": kind, "name": name, "load": load, **result})
                    f.write(json.dumps(records[-1]) + "\n")
                    f.flush()
                    print(json.dumps(records[-1]), file=sys.stderr, flush=True)
    report = f"""# plankton's workers beside tf.data service

{chr(10).join(f"- {key}: {value}" for key, value in about["machine"].items())}

Medians of {a.rounds} rounds in turns, the range in brackets; {a.epochs - 1} epochs of {a.images} samples are timed. Ratios are taken
round by round. The README says what is measured. The load was {min(r["load"] for r in records):.1f} to {max(r["load"] for r in records):.1f}.

{tables(records)}
"""
    (a.out / "report.md").write_text(report)
    print(report)


if __name__ == "__main__":
    if "--role" not in sys.argv:
        main()
    else:
        p = argparse.ArgumentParser()
        p.add_argument("--role", choices=["dispatcher", "worker", "trainer", "count"])
        p.add_argument("--data")
        p.add_argument("--epochs", type=int)
        p.add_argument("--sharding", default="OFF")
        p.add_argument("--compression", default="auto")
        p.add_argument("--dispatcher")
        p.add_argument("--address", action="append")
        a = p.parse_args()
        {"dispatcher": dispatcher, "worker": worker, "trainer": trainer, "count": count}[a.role](a)
