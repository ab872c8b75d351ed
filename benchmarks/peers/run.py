#!/usr/bin/env python3
"""Measures plankton beside other input pipelines: sets them up, runs them in turns and writes tables and a plot.

    python3 benchmarks/peers/run.py --data DIR

README.md says what is measured. Linux; needs Python 3.11 with venv, Go, and for libjpeg-turbo a C compiler.
"""
import argparse
import json
import os
import platform
import re
import resource
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True  # the repository stays clean
import report
from programs import EXTREME, LISTED, MANY, PROGRAMS, QUICK, SETS, WORKLOADS, Job, Plankton, SetupError, call, last_line, make_set, set_path

RUN_LIMIT_S = 300
GIVE_UP = 2  # failures after which a program is not run again in that job
ENVIRONMENT = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}


def arguments():
    def names(known):
        def parse(text):
            chosen = text.split(",")
            if unknown := set(chosen) - set(known):
                raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: choose from {', '.join(known)}")
            return [k for k in known if k in chosen]
        return parse

    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "plankton-peers"
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", type=Path, default=os.environ.get("PLANKTON_DATA"),
                   help="folder with imagenet-sample, mnist and cifar10-jpeg.tar (default: $PLANKTON_DATA)")
    p.add_argument("--rounds", type=int, default=5, help="runs of every program (default 5)")
    p.add_argument("--seconds", type=float, default=2, help="least time that a run measures (default 2)")
    p.add_argument("--cores", type=lambda s: [int(c) for c in s.split(",")], help="processors to use, in turns (default 1,2)")
    p.add_argument("--workloads", type=names(WORKLOADS + EXTREME),
                   help=f"comma-separated (default: {','.join(WORKLOADS)}; there are {', '.join(EXTREME)} as well)")
    p.add_argument("--programs", type=names(PROGRAMS), help="comma-separated (default: all): " + ", ".join(PROGRAMS))
    p.add_argument("--quick", action="store_true", help=f"only {', '.join(QUICK)}; train, eval and decode; 2 processors")
    p.add_argument("--cache", type=Path, default=cache, help="where environments and programs are kept (default: in the user's cache folder)")
    p.add_argument("--out", type=Path, help="folder for the results (default: results in the cache)")
    p.add_argument("--setup-only", action="store_true", help="install and build everything, measure nothing")
    a = p.parse_args()
    a.cores = a.cores or ([2] if a.quick else [1, 2])
    a.workloads = a.workloads or (["train", "eval", "decode"] if a.quick else list(WORKLOADS))
    a.programs = a.programs or (list(QUICK) if a.quick else list(PROGRAMS))
    a.cache = a.cache.resolve()
    a.out = a.out or a.cache / "results"
    if a.data is None and not a.setup_only:
        p.error("--data is missing, and PLANKTON_DATA is not set: name the folder with imagenet-sample, mnist and cifar10-jpeg.tar")
    if a.rounds < 1 or min(a.cores) < 1 or max(a.cores) > len(os.sched_getaffinity(0)):
        p.error(f"--rounds must be at least 1, --cores 1 to {len(os.sched_getaffinity(0))}, what this process may use")
    return a


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def set_up(names, cache):
    """Returns what cannot be measured, and why."""
    cache.mkdir(parents=True, exist_ok=True)
    failed = {}
    for name in names:
        say(f"setting up {name}")
        try:
            PROGRAMS[name].setup(cache)
        except SetupError as e:
            failed[name] = f"set-up failed: {e}"
            say(f"  {failed[name]}")
    return failed


def jobs(a, ready, temp):
    """The jobs in the order of a round; puts all files into the page cache."""
    sets, pictures = a.cache / "sets", a.data / "imagenet-sample"
    folders = {"mnist": a.data / "mnist", "cifar": temp / "train"} | {w: set_path(sets, kind, pictures) for w, kind in SETS.items()}
    for name in ready:
        program = PROGRAMS[name]
        if getattr(program, "kind", None) and set(program.workloads) & set(a.workloads):
            say(f"writing the pictures for {name}")
            make_set(program.python, sets, program.kind, pictures)
    for kind in dict.fromkeys(kind for w in a.workloads if w in SETS for kind in (("few", w) if w in LISTED else (SETS[w],))):
        say(f"writing the pictures of {kind}")
        make_set(PROGRAMS["torch-tvio"].python if kind == "large" else sys.executable, sets, kind, pictures)
    if "cifar" in a.workloads:
        try:
            with tarfile.open(a.data / "cifar10-jpeg.tar") as tar:
                tar.extractall(temp, filter="data")
        except (OSError, tarfile.TarError) as e:
            sys.exit(f"run.py: {e} (--workloads leaves cifar out)")
    out = []
    for workload in a.workloads:
        folder = folders.get(workload, pictures)
        files = [f for f in folders.get("few" if workload in LISTED else workload, pictures).rglob("*") if f.is_file()]
        for f in files:
            f.read_bytes()
        if not files:
            sys.exit(f"run.py: there are no files in {folder} (--workloads leaves {workload} out)")
        images = MANY if workload in LISTED else 60000 if workload == "mnist" else len(files)
        out += [Job(workload, folder, images, cores, sets) for cores in a.cores]
    return out


def busy_seconds():
    """Processor time of the whole machine."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    user, nice, system, idle, iowait, irq, softirq, steal = map(int, fields[:8])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def child_seconds():
    u = resource.getrusage(resource.RUSAGE_CHILDREN)
    return u.ru_utime + u.ru_stime


def measure(command, cores):
    """Runs a program on the first processors; returns the JSON it prints, or {"error": …}."""
    cpus = sorted(os.sched_getaffinity(0))[:cores]
    start, busy, child = time.monotonic(), busy_seconds(), child_seconds()
    p = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT,
                         process_group=0, preexec_fn=lambda: os.sched_setaffinity(0, cpus))
    try:
        out, err = p.communicate(timeout=RUN_LIMIT_S)
    except subprocess.TimeoutExpired:
        return {"error": f"no result after {RUN_LIMIT_S} s"}
    finally:
        try:
            os.killpg(p.pid, signal.SIGKILL)  # the program if it still runs, and workers that outlived it
        except ProcessLookupError:
            pass
        p.wait()
    try:
        result = json.loads(out.strip().splitlines()[-1]) if p.returncode == 0 else None
    except (IndexError, ValueError):
        result = None
    if result is None:
        return {"error": f"exit status {p.returncode}: {last_line(err)}"}
    result["cpu_s"] = child_seconds() - child
    others = busy_seconds() - busy - result["cpu_s"]
    result["other_cpu_pct"] = max(0, 100 * others / (time.monotonic() - start) / os.cpu_count())
    return result


def rounds(a, cells, record):
    """A B C … A B C …: a round runs every program once in every job."""
    rates, errors = {}, dict.fromkeys(cells, 0)
    for name, job in cells:
        if isinstance(PROGRAMS[name], Plankton) and not job.first and not job.cold:
            say(f"how fast is {name}, {job.workload}, {job.cores}?")
            rates[name, job] = measure(PROGRAMS[name].command(job, a.seconds, None), job.cores).get("images_per_s")
    for number in range(1, a.rounds + 1):
        for name, job in cells:
            if errors[name, job] == GIVE_UP:
                continue
            result = measure(PROGRAMS[name].command(job, a.seconds, rates.get((name, job))), job.cores)
            errors[name, job] += "error" in result
            record({"round": number, "program": name, "workload": job.workload, "cores": job.cores, **result})
            outcome = result["error"] if "error" in result else f"{result['images_per_s']:.0f} images/s"
            say(f"round {number} of {a.rounds}: {job.workload}, {job.cores}, {name}: {outcome}")


def ask(*command):
    try:
        return call(*command)
    except SetupError:
        return "unknown"


def machine():
    info = Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*:\s*(.*)", info)
    memory = int(re.search(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text())[1]) / (1 << 20)
    return {
        "processor": f"{model[1] if model else platform.machine()}, {os.cpu_count()} logical",
        "memory": f"{memory:.0f} GiB",
        "system": f"{platform.freedesktop_os_release().get('PRETTY_NAME', 'Linux')}, Linux {platform.release()}",
        "toolchain": f"{ask('go', 'env', 'GOVERSION')}, Python {platform.python_version()}",
        "plankton": ask("git", "describe", "--always", "--dirty"),
        "date": time.strftime("%Y-%m-%d"),
    }


def command_line():
    """The command as typed, but for the folders of this machine."""
    words = ["python3 benchmarks/peers/run.py", *sys.argv[1:]]
    for flag in ("data", "cache", "out"):
        for i, w in enumerate(words):
            if w.startswith(f"--{flag}="):
                words[i] = f"--{flag}={flag.upper()}"
            elif words[i - 1] == f"--{flag}":
                words[i] = flag.upper()
    return " ".join(words)


def main():
    a = arguments()
    failed = set_up(a.programs, a.cache)
    if a.setup_only:
        sys.exit(1 if failed else 0)
    a.out.mkdir(parents=True, exist_ok=True)
    temp = Path(tempfile.mkdtemp(prefix="plankton-peers-"))
    started = time.monotonic()
    try:
        ready = [name for name in a.programs if name not in failed]
        if not ready:
            sys.exit("run.py: no program could be set up")
        cells = [(name, job) for job in jobs(a, ready, temp) for name in ready if job.workload in PROGRAMS[name].workloads]
        with open(a.out / "runs.jsonl", "w") as f:
            def record(line):
                f.write(json.dumps(line) + "\n")
                f.flush()

            record({"command": command_line(), "rounds": a.rounds, "seconds": a.seconds, "machine": machine(), "not_set_up": failed})
            rounds(a, cells, record)
    finally:
        shutil.rmtree(temp)
        for workload in LISTED:  # a million names each
            shutil.rmtree(set_path(a.cache / "sets", workload, Path("imagenet-sample")), ignore_errors=True)
    report.write(a.out)
    say(f"{(time.monotonic() - started) / 60:.0f} minutes; see {a.out / 'report.md'}")


if __name__ == "__main__":
    main()
