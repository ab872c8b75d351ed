"""Compares plankton with peers that read a data set from an S3 server: images a second, requests,
bytes, time to the first batch, and what a SIGKILL in mid-epoch costs. README.md says how."""

import argparse
import json
import os
import pathlib
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
KEYS = {"AWS_ACCESS_KEY_ID": "tester", "AWS_SECRET_ACCESS_KEY": "secret-of-the-tester", "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1"}
PEERS = {"webdataset": "webdataset==1.0.2", "mosaic": "mosaicml-streaming==0.13.0", "litdata": "litdata==0.2.76"}
BATCH, EVERY = 64, 10


def environment(cache):
    python = cache / "venv" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", cache / "venv"], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "boto3", *PEERS.values()], check=True)
    return python


def build(work):
    for name in ("proxy", "loader"):
        subprocess.run(["go", "build", "-o", work / name, f"./{name}"], cwd=HERE, check=True)


def serve(o, work):
    """Starts the server and the proxy before it; returns their processes and the proxy's address."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{s.getsockname()[1]}"
    (work / "meta").mkdir(exist_ok=True)
    env = {**os.environ, "ROOT_ACCESS_KEY": KEYS["AWS_ACCESS_KEY_ID"], "ROOT_SECRET_KEY": KEYS["AWS_SECRET_ACCESS_KEY"]}
    gateway = subprocess.Popen(
        [o.versitygw, "--port", address, "--region", KEYS["AWS_REGION"], "--keep-alive", "posix", "--sidecar", work / "meta", o.cache / "buckets"],
        env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(600):
        try:
            urllib.request.urlopen(f"http://{address}", timeout=5)
        except urllib.error.HTTPError:
            break
        except OSError:
            time.sleep(0.05)
    proxy = subprocess.Popen([work / "proxy", "-to", f"http://{address}", "-late", f"{o.late}ms"], stdout=subprocess.PIPE, text=True)
    return [gateway, proxy], proxy.stdout.readline().strip()


class Program:
    """One program in one round, in a folder of its own."""

    def __init__(self, o, name, python, work, url, shards):
        self.o, self.name, self.url, self.dir = o, name, url, work / "run"
        shutil.rmtree(self.dir, ignore_errors=True)
        self.dir.mkdir()
        self.ids, self.state = self.dir / "ids", self.dir / "state"
        shared = ["-ids", self.ids, "-state", self.state, "-batch", BATCH, "-every", EVERY, "-counts", url + "/_counts"]
        if name == "plankton":
            self.command = [work / "loader", "-group", o.group, *shared]
        else:
            self.command = [python, HERE / f"peer_{name}.py", *["-" + a if str(a) in ("-ids", "-state", "-batch", "-every", "-counts") else a for a in shared],
                            "--local", self.dir / "local", "--shards", shards]

    def start(self, *more):
        more = [("-" if self.name == "plankton" else "--") + m for m in more]
        (self.dir / "tmp").mkdir(exist_ok=True)
        env = {**os.environ, **KEYS, "AWS_ENDPOINT_URL": self.url, "S3_ENDPOINT_URL": self.url, "TMPDIR": str(self.dir / "tmp"),
               "DATA_OPTIMIZER_CACHE_FOLDER": str(self.dir / "cache"), "DATA_OPTIMIZER_DATA_CACHE_FOLDER": str(self.dir / "data"), "OMP_NUM_THREADS": "1"}
        reset(self.url)
        self.what = " ".join(more) or "begin"
        self.began = time.time()
        self.log = open(self.dir / "log", "a+")
        return subprocess.Popen([str(c) for c in self.command + more], env=env, stdout=subprocess.PIPE, stderr=self.log, text=True, start_new_session=True)

    def finish(self, process):
        try:
            out, _ = process.communicate(timeout=self.o.timeout)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if process.returncode:
            self.log.seek(0)
            raise RuntimeError(f"{self.name} ({self.what}): exit status {process.returncode}: {self.log.read()[-2000:]}")
        return json.loads(out.strip().splitlines()[-1])

    def batches(self):
        if not self.ids.exists():
            return []
        return [[int(i) for i in line.split()] for line in self.ids.read_text().splitlines()]

    def epoch(self):
        """A whole epoch. Plankton goes on to a second one, of which the requests are counted: it
        fetches over the end of the first."""
        before = os.times()
        r = self.finish(self.start(*(["epochs=2"] if self.name == "plankton" else [])))
        after = os.times()
        counts = r.get("steady") or r["counts"]
        # A loader of several processes may hand over many batches at once: so the rate is of
        # the whole time, the start and the first batch included.
        return {
            "images_per_s": r["samples"] / (r["last"] - self.began), "steady_images_per_s": (r["samples"] - BATCH) / max(r["last"] - r["first"], 1e-9),
            "first_batch_s": r["first"] - self.began, "requests": counts["gets"] + counts["lists"] + counts["heads"], **counts,
            "bytes_ratio": counts["bytes"] / r["sample_bytes"], "samples": r["samples"],
            "cpu_s": (after.children_user + after.children_system - before.children_user - before.children_system) / (2 if self.name == "plankton" else 1),
        }

    def kill(self, half, samples):
        """A SIGKILL in mid-epoch, and a process that goes on from the last state, on the same
        machine: what a library keeps on disk is still there."""
        process = self.start()
        while len(self.batches()) < half:
            if process.poll() is not None:
                self.finish(process)
                raise RuntimeError(f"{self.name}: it was over before batch {half}")
            time.sleep(0.005)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        done = int(pathlib.Path(str(self.state) + ".batches").read_text())
        seen = [i for b in self.batches()[:done] for i in b]
        self.ids.rename(self.dir / "before")
        r = self.finish(self.start("resume"))
        again = [i for b in self.batches() for i in b]
        whole = seen + again
        return {"resume_s": r["first"] - self.began, "resume_requests": r["counts"]["gets"] + r["counts"]["lists"] + r["counts"]["heads"],
                "lost": samples - len(set(whole)), "repeated": len(whole) - len(set(whole)), "resumed_at": len(seen)}


def reset(url):
    return json.load(urllib.request.urlopen(url + "/_counts?reset=1"))


def table(runs, programs):
    """The medians of the rounds, and the rates as ratios to plankton in the same round."""
    def values(name, key):
        return [r[key] for r in runs if r["program"] == name and key in r]

    def ratios(name, key):
        ours = {r["round"]: r[key] for r in runs if r["program"] == "plankton" and key in r}
        all = [r[key] / ours[r["round"]] for r in runs if r["program"] == name and key in r and r["round"] in ours]
        return f"{statistics.median(all):.2f} ({min(all):.2f}–{max(all):.2f})" if all else "–"

    def median(name, key, form="{:.0f}"):
        all = values(name, key)
        return form.format(statistics.median(all)) if all else "–"

    def each(name, key):
        return ", ".join(str(r[key]) if key in r else "failed" for r in runs if r["program"] == name) or "–"

    lines = ["| | images/s of an epoch ÷ plankton | after the first batch ÷ plankton | first batch ÷ plankton | CPU-seconds ÷ plankton | requests | bytes ÷ needed | resume ÷ plankton | lost | repeated |",
             "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for name in programs:
        lines.append(f"| {name} | {ratios(name, 'images_per_s')} | {ratios(name, 'steady_images_per_s')} | {ratios(name, 'first_batch_s')} | {ratios(name, 'cpu_s')} | {median(name, 'requests')} | "
                     f"{median(name, 'bytes_ratio', '{:.2f}')} | {ratios(name, 'resume_s')} | {each(name, 'lost')} | {each(name, 'repeated')} |")
    return "\n".join(lines)


def main():
    f = argparse.ArgumentParser(description=__doc__)
    f.add_argument("--table", type=pathlib.Path, help="only print the table of this file of results")
    f.add_argument("--data", default=os.path.join(os.environ.get("PLANKTON_DATA", ""), "imagenet-sample"), help="folder of JPEG files")
    f.add_argument("--out", type=pathlib.Path, default=HERE / "results.json")
    f.add_argument("--cache", type=pathlib.Path, default=pathlib.Path.home() / ".cache" / "plankton" / "storage-peers", help="folder for the peers and the data sets")
    f.add_argument("--versitygw", default=os.environ.get("PLANKTON_VERSITYGW") or shutil.which("versitygw") or str(pathlib.Path.home() / ".cache/plankton/bin/versitygw"))
    f.add_argument("--rounds", type=int, default=5)
    f.add_argument("--copies", type=int, default=12, help="times that each picture is in the data")
    f.add_argument("--late", type=int, default=30, help="milliseconds that each answer takes more")
    f.add_argument("--group", type=int, default=10, help="shards that plankton shuffles as one")
    f.add_argument("--timeout", type=float, default=600, help="seconds that a program may take")
    f.add_argument("--programs", default="plankton,webdataset,mosaic,litdata")
    o = f.parse_args()
    programs = o.programs.split(",")
    if o.table:
        return print(table(json.loads(o.table.read_text())["runs"], programs))
    o.cache = o.cache.resolve()
    o.cache.mkdir(parents=True, exist_ok=True)
    python = environment(o.cache)
    samples = int(subprocess.run([python, HERE / "make.py", "--pictures", o.data, "--copies", str(o.copies), "--out", o.cache / "buckets" / "data", "--work", o.cache / "work"],
                                 check=True, stdout=subprocess.PIPE, text=True).stdout.split()[-1])
    tar = o.cache / "buckets/data/tar"
    subprocess.run(["go", "run", "../../cmd/plankton", "index", "--data", tar], cwd=HERE, check=True, stdout=subprocess.DEVNULL)
    shards = len(list(tar.glob("*.tar")))
    runs = []
    with tempfile.TemporaryDirectory(dir=o.cache) as work:
        work = pathlib.Path(work)
        build(work)
        servers, url = serve(o, work)
        try:
            for round in range(o.rounds):
                for name in programs:
                    run = {"program": name, "round": round}
                    for part in (lambda p: p.epoch(), lambda p: p.kill(samples // BATCH // 2 + 4, samples)):
                        try:
                            run |= part(Program(o, name, python, work, url, shards))
                        except (RuntimeError, OSError, subprocess.TimeoutExpired) as e:
                            run.setdefault("errors", []).append(str(e)[:80] + " … " + str(e)[-400:])
                    runs.append(run)
                    print(json.dumps(run), flush=True)
                o.out.write_text(json.dumps({"samples": samples, "shards": shards, "late_ms": o.late, "group": o.group, "batch": BATCH, "runs": runs}, indent=1) + "\n")
        finally:
            for s in servers:
                s.kill()
    print(table(runs, programs))


if __name__ == "__main__":
    main()
