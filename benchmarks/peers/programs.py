"""The programs that are compared: how each is set up, and its command for a workload."""
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WORKLOADS = ("train", "strong", "eval", "decode", "mnist", "cifar")
PICTURES = ("train", "strong", "eval", "decode", "cifar")
USUAL = ("train", "eval", "decode", "mnist", "cifar")  # of programs whose libraries have no augmentations


@dataclass(frozen=True)
class Job:
    """One workload on so many processors. images is how many samples an epoch has."""

    workload: str
    data: Path
    images: int
    cores: int

    @property
    def batch(self):
        return 128 if self.workload == "cifar" else 64


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
    """A peer in Python, in a virtual environment of its own (rows that install the same share one)."""

    def __init__(self, label, script, *packages, variant=None, workloads=WORKLOADS):
        self.label, self.script, self.variant, self.workloads = label, script, variant, workloads
        self.packages = [*packages, "numpy==2.4.6"]

    def setup(self, cache):
        venv = cache / f"venv-{self.script}"
        self.python = venv / "bin" / "python"
        done = venv / "installed.txt"  # written last: a broken installation is begun again
        if not done.exists() or done.read_text().split() != self.packages:
            call(sys.executable, "-m", "venv", "--clear", venv)
            call(self.python, "-m", "pip", "install", "--quiet", *self.packages)
            done.write_text("\n".join(self.packages))

    def command(self, job, seconds, rate):
        variant = ["--variant", self.variant] if self.variant else []
        return [self.python, HERE / f"peer_{self.script}.py", "--workload", job.workload, "--data", job.data, "--threads", job.cores,
                "--batch", job.batch, "--seconds", seconds, *variant]


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
        shuffle = "--shuffle" if job.workload in ("train", "strong", "mnist", "cifar") else "--no-shuffle"
        return [self.exe, "bench", "--json", "--workload", job.workload, "--data", job.data, "--threads", job.cores,
                "--batch", job.batch, "--epochs", epochs, "--seed", 1, shuffle, *self.flags]


class Ceiling:
    """libjpeg-turbo alone: for train the crop, at a reduced DCT scale where it can be, else the whole picture."""

    label, workloads = "libjpeg-turbo, decode alone", ("train", "decode")

    def setup(self, cache):
        self.exe = cache / "ceiling"
        call("cc", "-O3", HERE / "ceiling.c", "-o", self.exe, "-ljpeg", "-lpthread", "-lm")

    def command(self, job, seconds, rate):
        return [self.exe, "crop" if job.workload == "train" else "full", job.cores, seconds, job.data]


TORCH = ("torch==2.15.0", "torchvision==0.29.2", "pillow==13.0.0")

# In the order in which they run. decode and mnist have one path: decode is exact always.
PROGRAMS = {
    "plankton": Plankton("**plankton**"),
    "plankton-exact": Plankton("**plankton, exact RGB**", "--exact-rgb", workloads=("train", "strong", "eval", "cifar")),
    "plankton-turbojpeg": Plankton("plankton, tag turbojpeg", tags="turbojpeg", workloads=PICTURES),
    "dali": Python("DALI", "dali", "nvidia-dali-cuda120==2.4.0"),
    "torch-tvio": Python("PyTorch, torchvision.io", "torch", *TORCH, variant="tvio"),
    "torch-pillow": Python("PyTorch, Pillow", "torch", *TORCH, variant="pillow", workloads=PICTURES),
    "tfdata": Python("tf.data (no antialias)", "tfdata", "tensorflow-cpu==2.21.0", workloads=USUAL),
    "spdl": Python("SPDL", "spdl", "spdl==0.8.0", "spdl-io==0.8.0", "spdl-core==0.8.0", workloads=USUAL),
    "grain": Python("Grain, Pillow", "grain", "grain==0.2.18", "pillow==13.0.0", workloads=USUAL),
    "goloop": GoLoop(),
    "ceiling": Ceiling(),
}
QUICK = ("plankton", "plankton-exact", "dali", "torch-tvio", "tfdata", "goloop")
