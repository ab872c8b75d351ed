"""The programs that are compared: how each is set up, and its command for a workload."""
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WORKLOADS = ("train", "strong", "eval", "decode", "mnist", "cifar")
EXTREME = ("few", "many", "classes", "large", "large-eval", "cold")  # what the usual sizes of data do not show
PICTURES = ("train", "strong", "eval", "decode", "cifar")
USUAL = ("train", "eval", "decode", "mnist", "cifar")  # of programs whose libraries have no augmentations
MANY = 1_000_000  # files of the workloads many and classes
LISTED = ("many", "classes")  # workloads of so many files
SETS = {"large": "large", "large-eval": "large", "cold": "copies", "few": "few", "many": "many", "classes": "classes"}  # made by sets.py


@dataclass(frozen=True)
class Job:
    """One workload on so many processors. images is how many samples an epoch has; sets is where the sets for peers are."""

    workload: str
    data: Path
    images: int
    cores: int
    sets: Path

    @property
    def batch(self):
        return {"cifar": 128, "large": 8, "large-eval": 8}.get(self.workload, 64)

    @property
    def work(self):
        """What is done with a picture."""
        return {"large": "train", "large-eval": "eval", "cold": "train", "few": "train", "many": "train", "classes": "train"}.get(self.workload, self.workload)

    @property
    def first(self):
        """Only the first batch is wanted."""
        return self.workload in ("few", *LISTED)

    @property
    def cold(self):
        return self.workload == "cold"


class SetupError(Exception):
    """Says in one line why a program cannot be measured."""


def call(*command):
    """Runs a step of a set-up."""
    try:
        p = subprocess.run([str(c) for c in command], cwd=ROOT, capture_output=True, text=True)
    except OSError as e:
        raise SetupError(str(e)) from e
    if p.returncode:
        raise SetupError(f"{Path(command[0]).name}: {last_line(p.stderr)}")
    return p.stdout.strip()


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1][:300] if lines else "no message"


class Python:
    """A peer in Python, in a virtual environment that lock/NAME.txt describes (some share one). kind is the set that sets.py makes for it."""

    def __init__(self, label, script, environment=None, variant=None, kind=None, workloads=WORKLOADS):
        self.label, self.script, self.environment, self.variant, self.kind, self.workloads = label, script, environment or script, variant, kind, workloads

    def setup(self, cache):
        venv = cache / f"venv-{self.environment}"
        self.python = venv / "bin" / "python"
        lock = HERE / "lock" / f"{self.environment}.txt"
        done = venv / "installed.txt"  # written last: a broken installation is begun again
        if not done.exists() or done.read_text() != lock.read_text():
            call(sys.executable, "-m", "venv", "--clear", venv)
            call(self.python, "-m", "pip", "install", "--quiet", "--no-deps", "-r", lock)
            done.write_text(lock.read_text())

    def command(self, job, seconds, rate):
        more = ["--variant", self.variant] if self.variant else []
        more += ["--set", set_path(job.sets, self.kind, job.data)] if self.kind else []
        more += ["--first"] * job.first + ["--cold"] * job.cold
        return [self.python, HERE / f"peer_{self.script}.py", "--workload", job.work, "--data", job.data, "--threads", job.cores,
                "--batch", job.batch, "--seconds", seconds, *more]


def set_path(sets, kind, data):
    return sets / f"{kind}-{data.name}"


def make_set(python, sets, kind, data):
    """Makes a set of the pictures in a folder, unless it is there."""
    out = set_path(sets, kind, data)
    if not out.exists():
        sets.mkdir(parents=True, exist_ok=True)
        call(python, HERE / "sets.py", kind, "--pictures", data, "--out", out)
    return out


class GoLoop:
    label, workloads = "Go loop (stdlib, x/image)", USUAL

    def setup(self, cache):
        self.exe = cache / "goloop"
        call("go", "build", "-o", self.exe, "./benchmarks/peers/goloop")

    def command(self, job, seconds, rate):
        return [self.exe, "-workload", job.workload, "-data", job.data, "-threads", job.cores, "-batch", job.batch, "-seconds", seconds]


class Plankton:
    """Takes epochs, not seconds, so that the rate of an earlier run decides how many."""

    def __init__(self, label, *flags, tags="", workloads=WORKLOADS):
        self.label, self.flags, self.tags, self.workloads = label, flags, tags, workloads

    def setup(self, cache):
        self.exe = cache / ("plankton-" + self.tags if self.tags else "plankton")
        call("go", "build", "-tags", self.tags, "-o", self.exe, "./cmd/plankton")

    def command(self, job, seconds, rate):
        epochs = 2 if rate is None else 2 + int(seconds * rate / job.images)
        more = ["--shuffle" if job.work in ("train", "strong", "mnist", "cifar") else "--no-shuffle"]
        if job.cold:
            epochs, more = 1, [*more, "--cold"]
        if job.first:  # one rank of so many that its epoch is a batch
            epochs, more = 1, [*more, "--world", -(-job.images // job.batch)]
        return [self.exe, "bench", "--json", "--workload", job.work, "--data", job.data, "--threads", job.cores,
                "--batch", job.batch, "--epochs", epochs, "--seed", 1, *more, *self.flags]


class Ceiling:
    """libjpeg-turbo alone: for train the crop, at a reduced DCT scale where it can be, else the whole picture."""

    label, workloads = "libjpeg-turbo, decode alone", ("train", "decode")

    def setup(self, cache):
        self.exe = cache / "ceiling"
        call("cc", "-O3", HERE / "ceiling.c", "-o", self.exe, "-ljpeg", "-lpthread", "-lm")

    def command(self, job, seconds, rate):
        return [self.exe, "crop" if job.workload == "train" else "full", job.cores, seconds, job.data]


SHARDS = ("train", "eval")  # of peers that read sets of their own format

# In the order in which they run. decode and mnist have one path: decode is exact always.
PROGRAMS = {
    "plankton": Plankton("**plankton**", workloads=WORKLOADS + EXTREME),
    "plankton-noindex": Plankton("**plankton, no entropy index**", "--entropy-index", "off", workloads=("train", "eval", "large", "large-eval")),
    "plankton-exact": Plankton("**plankton, exact RGB**", "--exact-rgb", workloads=("train", "strong", "eval", "cifar", "large", "large-eval")),
    "plankton-turbojpeg": Plankton("plankton, tag turbojpeg", tags="turbojpeg", workloads=PICTURES),
    "dali": Python("DALI", "dali", workloads=WORKLOADS + EXTREME),
    "dali-tuned": Python("DALI, tuned", "dali", variant="tuned", workloads=("train", "eval", "large", "large-eval")),
    "torch-tvio": Python("PyTorch, torchvision.io", "torch", variant="tvio", workloads=WORKLOADS + EXTREME),
    "torch-pillow": Python("PyTorch, Pillow", "torch", variant="pillow", workloads=PICTURES),
    "webdataset": Python("WebDataset", "webdataset", "torch", kind="tar", workloads=SHARDS),
    "mosaic": Python("MosaicML Streaming", "mosaic", "torch", kind="mds", workloads=SHARDS),
    "litdata": Python("LitData", "litdata", "torch", kind="litdata", workloads=SHARDS),
    "lancedb": Python("LanceDB", "lancedb", "torch", kind="lance", workloads=SHARDS),
    "tfdata": Python("tf.data (no antialias)", "tfdata", workloads=USUAL),
    "spdl": Python("SPDL", "spdl", workloads=USUAL),
    "grain": Python("Grain, Pillow", "grain", workloads=USUAL),
    "goloop": GoLoop(),
    "ceiling": Ceiling(),
}
QUICK = ("plankton", "plankton-exact", "dali", "torch-tvio", "tfdata", "goloop")
