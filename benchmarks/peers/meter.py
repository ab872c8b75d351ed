"""What every Python peer shares: its arguments, its data, and what is measured of a run.

A peer imports this module first, then its framework, and ends with

    meter.measure(args, version, epoch)

where epoch() returns an iterable that runs over the data once and yields, for every batch, the number of
samples in it after one element of it was read. One line of JSON comes out, with the keys of `plankton bench
--json`. The first epoch warms up and is not timed; whole epochs follow until --seconds have passed. With --cold
the first epoch is the one that is timed, with --first its first batch.
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


def arguments(*variants, sets=False):
    p = argparse.ArgumentParser()
    p.add_argument("--workload", choices=["train", "strong", "eval", "decode", "mnist", "cifar"], required=True)
    p.add_argument("--data", required=True, help="folder of JPEG files; for mnist, of the IDX files")
    p.add_argument("--threads", type=int, default=2, help="processors to use")
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--seconds", type=float, default=2, help="least time that is measured")
    p.add_argument("--first", action="store_true", help="end after the first batch")
    p.add_argument("--cold", action="store_true", help="drop the files from the page cache and measure the first epoch")
    if sets:
        p.add_argument("--set", required=True, help="what sets.py has made of --data for this library")
    if variants:
        p.add_argument("--variant", choices=variants, default=variants[0])
    a = p.parse_args()
    a.shuffle = a.workload in ("train", "strong", "mnist", "cifar")
    return a


def drop(folder):
    """Drops the files of a folder from the page cache."""
    for file in jpegs(folder):
        with open(file, "rb") as f:
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


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


IMPORTED = [0.0]


def imported():
    """Called by a peer when its framework is there: what follows is its own start."""
    IMPORTED[0] = process_age()


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


def timed(a, epoch, first=None):
    """Runs whole epochs for at least --seconds; of cold files, and of a start, one."""
    start, cpu, n, epochs = time.perf_counter(), cpu_seconds(), 0, 0
    while epochs == 0 or not (a.cold or a.first) and time.perf_counter() - start < a.seconds:
        for k in epoch():
            first = first or process_age()
            n += k
            if a.first:
                break
        epochs += 1
    wall, cpu = time.perf_counter() - start, cpu_seconds() - cpu
    return dict(images=n, epochs=epochs, wall_s=wall, images_per_s=n / wall, cpu_s_per_1000=1000 * cpu / n, first_batch_s=first)


def measure(a, version, epoch):
    peak = PeakMemory()
    peak.start()
    if a.cold:
        drop(a.data)
    if a.cold or a.first:
        result = timed(a, epoch)
    else:
        first, warm = None, 0
        for n in epoch():
            first = first or process_age()
            warm += n
        result = timed(a, epoch, first)
        result["images"] += warm
        result["epochs"] += 1
    result.update(import_s=IMPORTED[0], cpu_s=cpu_seconds(), version=version)
    if workers():
        result["pss_mib"] = sum(status_mib(f"/proc/{pid}/smaps_rollup", "Pss:") for pid in [os.getpid(), *workers()])
    result["peak_rss_mib"] = peak.stop()
    print(json.dumps(result), flush=True)
