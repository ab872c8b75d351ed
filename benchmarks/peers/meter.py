"""What every Python peer shares: its arguments, its data, and what is measured of a run.

A peer imports this module first, then its framework, and ends with

    meter.measure(args, version, epoch)

where epoch() returns an iterable that runs over the data once and yields, for every batch, the number of
samples in it after one element of it was read. One line of JSON comes out, with the keys of `plankton bench
--json`. The first epoch warms up and is not timed; whole epochs follow until --seconds have passed.
"""
import argparse
import gzip
import json
import multiprocessing
import os
import resource
import threading
import time

MEAN = [0.485, 0.456, 0.406]
STD = [0.229, 0.224, 0.225]
MIB = 1 << 20
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def arguments(*variants):
    p = argparse.ArgumentParser()
    p.add_argument("--workload", choices=["train", "strong", "eval", "decode", "mnist", "cifar"], required=True)
    p.add_argument("--data", required=True, help="folder of JPEG files; for mnist, of the IDX files")
    p.add_argument("--threads", type=int, default=2, help="processors to use")
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--seconds", type=float, default=2, help="least time that is measured")
    if variants:
        p.add_argument("--variant", choices=variants, default=variants[0])
    a = p.parse_args()
    a.shuffle = a.workload in ("train", "strong", "mnist", "cifar")
    return a


def jpegs(folder):
    """The JPEG files in a folder and below, sorted."""
    return sorted(os.path.join(d, f) for d, _, files in os.walk(folder) for f in files if f.lower().endswith((".jpg", ".jpeg")))


def mnist(folder):
    """The training pictures, N×784 bytes, and labels."""
    import numpy as np

    def idx(name, header):
        with gzip.open(os.path.join(folder, name)) as f:
            return np.frombuffer(f.read(), np.uint8, offset=header).copy()

    return idx("train-images-idx3-ubyte.gz", 16).reshape(-1, 784), idx("train-labels-idx1-ubyte.gz", 8)


def process_age():
    """Seconds since this process began, to 1/100 s: interpreter and imports are part of the time to the first batch."""
    with open("/proc/self/stat") as f:
        started = int(f.read().rpartition(")")[2].split()[19]) / TICKS
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started


def workers():
    """The ids of the worker processes that are alive."""
    return [p.pid for p in multiprocessing.active_children()]


def cpu_seconds():
    """Processor time of this process and its workers, living and gone."""
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        total += usage.ru_utime + usage.ru_stime
    for pid in workers():
        with open(f"/proc/{pid}/stat") as f:
            utime, stime = f.read().rpartition(")")[2].split()[11:13]
        total += (int(utime) + int(stime)) / TICKS
    return total


def status_mib(file, key):
    """A field of /proc/PID/status or smaps_rollup, which are in KiB."""
    with open(file) as f:
        return next(int(line.split()[1]) / 1024 for line in f if line.startswith(key))


class PeakMemory(threading.Thread):
    """Samples the resident memory of this process and its workers, pages that they share counted in each."""

    def __init__(self):
        super().__init__(daemon=True)
        self.mib, self.done = 0.0, threading.Event()

    def run(self):
        while not self.done.wait(0.1):
            total = 0
            for pid in ["self", *workers()]:
                try:
                    with open(f"/proc/{pid}/statm") as f:
                        total += int(f.read().split()[1]) * PAGE
                except OSError:  # the worker has ended
                    pass
            self.mib = max(self.mib, total / MIB)

    def stop(self):
        """The peak; of this process alone the kernel knows it exactly."""
        self.done.set()
        self.join()
        return max(self.mib, status_mib("/proc/self/status", "VmHWM:"))


def measure(a, version, epoch):
    peak = PeakMemory()
    peak.start()
    first, warm = None, 0
    for n in epoch():
        first = first or process_age()
        warm += n
    start, cpu = time.perf_counter(), cpu_seconds()
    timed, epochs = 0, 1
    while epochs == 1 or time.perf_counter() - start < a.seconds:
        timed += sum(epoch())
        epochs += 1
    wall, cpu = time.perf_counter() - start, cpu_seconds() - cpu
    result = dict(
        images=warm + timed, epochs=epochs, wall_s=wall, images_per_s=timed / wall, cpu_s_per_1000=1000 * cpu / timed,
        first_batch_s=first, version=version)
    if workers():
        result["pss_mib"] = sum(status_mib(f"/proc/{pid}/smaps_rollup", "Pss:") for pid in [os.getpid(), *workers()])
    result["peak_rss_mib"] = peak.stop()
    print(json.dumps(result), flush=True)
