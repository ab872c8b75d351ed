#!/usr/bin/env python3
"""Writes report.md, plot.svg and the README's chart from the runs.jsonl of run.py. By itself: python3 report.py FOLDER"""
import json
import statistics
import sys
from collections import defaultdict
from html import escape
from pathlib import Path

sys.dont_write_bytecode = True
from chart import PANELS, THEMES, chart
from programs import EXTREME, LISTED, MANY, PROGRAMS, WORKLOADS

OURS = {"plankton": "plankton", "plankton-exact": "exact RGB"}
BUSY_PCT = 10
TITLES = {
    "train": "train: random resized crop 224, mirror, normalise, float32 N×3×224×224",
    "strong": "strong: train with colours twisted and a region erased",
    "eval": "eval: shorter side 256, centre crop 224, normalise, float32 N×3×224×224",
    "decode": "decode: whole pictures to RGB",
    "mnist": "mnist: float32 and one-hot labels",
    "cifar": "cifar: 32×32 JPEG files, normalise, float32 N×3×32×32",
    "large": "large: train on photographs of 12 to 50 megapixels, batches of 8",
    "large-eval": "large-eval: eval on photographs of 12 to 50 megapixels, batches of 8",
    "cold": "cold: the first epoch of train, files not in the page cache",
    "few": "few: the first batch of train, a folder of the pictures",
    "many": f"many: the first batch of train, a folder of {MANY:,} files",
    "classes": f"classes: the first batch of train, {MANY:,} files in 1,000 class folders",
}
MEASURES = ("images_per_s", "cpu_s_per_1000", "peak_rss_mib", "first_batch_s")
STARTS = ("few", *LISTED)  # of which only the first batch counts
START_MEASURES = ("first_batch_s", "own_start_s", "cpu_s", "peak_rss_mib")


class Runs:
    """cells[workload, cores][program][round] is a run that worked, errors the first message of those that did not."""

    def __init__(self, folder):
        lines = [json.loads(line) for line in (folder / "runs.jsonl").read_text().splitlines()]
        self.about = lines[0]
        self.cells = defaultdict(lambda: defaultdict(dict))
        self.errors = {}
        self.order = []
        for run in lines[1:]:
            where = run["workload"], run["cores"]
            if where not in self.order:
                self.order.append(where)
            if "error" in run:
                self.errors.setdefault((*where, run["program"]), run["error"])
                self.cells[where].setdefault(run["program"], {})
            else:
                if "first_batch_s" in run:  # all but those that decode alone
                    run["own_start_s"] = run["first_batch_s"] - run.get("import_s", 0)
                self.cells[where][run["program"]][run["round"]] = run

    @property
    def rates(self):
        """Some workload was measured for longer than its first batch."""
        return any(w not in STARTS for w, _ in self.order)

    def values(self, where, program, key):
        return [r[key] for r in self.cells[where].get(program, {}).values() if key in r]

    def ratios(self, where, program, key, base_where, base):
        """program ÷ base, round by round: the two ran within minutes of each other."""
        a, b = self.cells[where].get(program, {}), self.cells[base_where].get(base, {})
        return [a[r][key] / b[r][key] for r in a if r in b and key in a[r] and key in b[r]]


def figure(x):
    """Three significant digits or more, thousands apart."""
    if x >= 100:
        return f"{x:,.0f}"
    return f"{x:.1f}" if x >= 10 else f"{x:.2f}" if x >= 1 else f"{x:.3g}"


def ratio(x):
    return f"{x:.2f}" if x >= 0.1 else f"{x:.2g}"


def spread(values, show=figure, unit=""):
    """Median and range."""
    if not values:
        return "–"
    mid = show(statistics.median(values)) + unit
    return mid if len(values) == 1 else f"{mid} ({show(min(values))}–{show(max(values))})"


def table(head, rows):
    align = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, align, *rows]) + "\n"


def memory(runs, where, program):
    cell = spread(runs.values(where, program, "peak_rss_mib"))
    shared = runs.values(where, program, "pss_mib")
    return f"{cell}; PSS {figure(statistics.median(shared))}" if shared else cell


def start_figures(runs, where):
    """What a program that is started needs until its first batch."""
    workload, cores = where
    rows = []
    for program in runs.cells[where]:
        cells = [spread(runs.values(where, program, key)) for key in START_MEASURES]
        more = runs.values(where, program, "peak_rss_mib")
        less = runs.values(("few", cores), program, "peak_rss_mib")
        if workload in LISTED:
            cells.append(f"{(statistics.median(more) - statistics.median(less)) * (1 << 20) / MANY:.0f}" if more and less else "–")
        cells += [spread(runs.ratios(where, "plankton", key, where, program), ratio, "×") for key in START_MEASURES]
        rows.append([PROGRAMS[program].label, *cells])
    head = ["first batch, s", "after imports, s", "CPU-s", "peak RSS, MiB", *(["bytes a file"] if workload in LISTED else [])]
    return table(["", *head, "plankton ÷ it: first batch", "after imports", "CPU-s", "peak RSS"], rows)


def figures(runs, where):
    rows = []
    for program, cell in runs.cells[where].items():
        if not cell:
            rows.append([PROGRAMS[program].label, "failed", "–", "–", "–", "0", "–"])
            continue
        v = {key: runs.values(where, program, key) for key in MEASURES}
        rows.append([PROGRAMS[program].label, spread(v["images_per_s"]), spread(v["cpu_s_per_1000"]), memory(runs, where, program),
                     spread(v["first_batch_s"]), str(len(cell)), f"{max(runs.values(where, program, 'other_cpu_pct')):.0f}"])
    return table(["", "images/s", "CPU-s per 1,000", "peak RSS, MiB", "first batch, s", "runs", "other CPU, %"], rows)


def comparison(runs, where, ours):
    """Our program divided by each of the others."""
    rows = []
    for program in runs.cells[where]:
        cells = [spread(runs.ratios(where, ours, key, where, program), ratio, "×") for key in MEASURES]
        if program != ours and cells[0] != "–":
            rows.append([PROGRAMS[program].label, *cells])
    return table([f"{OURS[ours]} ÷", "images/s", "CPU-seconds", "peak RSS", "first batch"], rows) if rows else ""


def summary(runs):
    """Median images/s of all workloads on the most processors."""
    most = max(cores for _, cores in runs.order)
    workloads = [w for w, cores in runs.order if cores == most and w not in STARTS]
    rows = []
    for program in PROGRAMS:
        values = [runs.values((w, most), program, "images_per_s") for w in workloads]
        if any(values):
            rows.append([PROGRAMS[program].label, *(figure(statistics.median(v)) if v else "–" for v in values)])
    return f"Images/s on {plural(most, 'processor')}:\n\n" + table(["", *workloads], rows)


def scaling(runs):
    """Images/s on the most processors divided by those on the fewest."""
    cores = sorted({c for _, c in runs.order})
    if len(cores) < 2:
        return ""
    low, high = cores[0], cores[-1]
    workloads = [w for w in WORKLOADS + EXTREME if w not in STARTS and (w, low) in runs.order and (w, high) in runs.order]
    rows = []
    for program in PROGRAMS:
        cells = [spread(runs.ratios((w, high), program, "images_per_s", (w, low), program), ratio, "×") for w in workloads]
        if set(cells) != {"–"}:
            rows.append([PROGRAMS[program].label, *cells])
    return f"## Images/s on {high} processors ÷ on {low}\n\n" + table(["", *workloads], rows)


def plural(n, word):
    return f"{n} {word}" + ("" if n == 1 else "s")


def markdown(runs):
    about = runs.about
    out = ["# plankton beside its peers\n", f"```\n{about['command']}\n```\n"]
    out.append("\n".join(f"- {key}: {value}" for key, value in about["machine"].items()) + "\n")
    all_runs = [run for cell in runs.cells.values() for program in cell.values() for run in program.values()]
    versions = {run["program"]: run["version"] for run in all_runs if "version" in run}
    out.append("Versions: " + "; ".join(f"{PROGRAMS[p].label} {v}" for p, v in versions.items()) + ".\n")
    out.append(f"Medians of {plural(about['rounds'], 'round')} in turns (A B C … A B C …), the range in brackets; each run measures at "
               f"least {about['seconds']:g} s after a warm epoch, files in the page cache. Ratios are taken round by round. PSS: shared pages "
               "counted once, for programs with worker processes. First batch: from the start of the process. Other CPU: the largest share "
               "of the machine that other processes had during a run. README.md in benchmarks/peers says what each program does.\n")
    busy = [run for run in all_runs if run["other_cpu_pct"] > BUSY_PCT]
    if busy:
        out.append(f"**The machine was not quiet**: in {plural(len(busy), 'run')} other processes had more than {BUSY_PCT} % of it.\n")
    failures = [f"- {PROGRAMS[p].label}: `{message}`" for p, message in about["not_set_up"].items()]
    failures += [f"- {PROGRAMS[p].label}, {workload}, {plural(cores, 'processor')}: `{message}`"
                 for (workload, cores, p), message in runs.errors.items()]
    if failures:
        out.append("Failures:\n\n" + "\n".join(failures) + "\n")
    if runs.rates:
        out += [summary(runs), "![images/s](plot.svg)\n"]
    for where in runs.order:
        workload, cores = where
        out.append(f"## {TITLES[workload]}; {plural(cores, 'processor')}\n")
        if workload in STARTS:
            out.append(start_figures(runs, where))
            continue
        out.append(figures(runs, where))
        out += [t for ours in OURS if (t := comparison(runs, where, ours))]
    out.append(scaling(runs))
    return "\n".join(part for part in out if part)


BAR, GAP, LABEL, WIDTH, HEAD = 16, 6, 190, 760, 34


def panel(runs, where, top):
    """Horizontal bars of the medians, fastest first, with the range as a line. Returns SVG and height."""
    workload, cores = where
    rows = [(statistics.median(v), min(v), max(v), p) for p in runs.cells[where] if (v := runs.values(where, p, "images_per_s"))]
    rows.sort(reverse=True)
    scale = (WIDTH - LABEL - 90) / max((high for _, _, high, _ in rows), default=1)
    svg = [f'<text x="{LABEL}" y="{top + 20}" font-weight="bold">{workload}, {plural(cores, "processor")}: images/s</text>']
    for i, (mid, low, high, program) in enumerate(rows):
        y = top + HEAD + i * (BAR + GAP)
        colour = "#d9541e" if program in OURS else "#f0b090" if program.startswith("plankton") else "#9aa5b1"
        middle = y + BAR / 2
        svg += [
            f'<text x="{LABEL - 8}" y="{y + 12}" text-anchor="end">{escape(PROGRAMS[program].label.strip("*"))}</text>',
            f'<rect x="{LABEL}" y="{y}" width="{mid * scale:.1f}" height="{BAR}" fill="{colour}"/>',
            f'<line x1="{LABEL + low * scale:.1f}" x2="{LABEL + high * scale:.1f}" y1="{middle}" y2="{middle}" stroke="#222" stroke-width="1.5"/>',
            f'<text x="{LABEL + high * scale + 6:.1f}" y="{y + 12}">{figure(mid)}</text>',
        ]
    return "\n".join(svg), HEAD + len(rows) * (BAR + GAP) + 14


def plot(runs):
    most = max(cores for _, cores in runs.order)
    parts, top = [], 0
    for where in runs.order:
        if where[1] == most and where[0] not in STARTS:
            svg, height = panel(runs, where, top)
            parts.append(svg)
            top += height
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" width="{WIDTH}" height="{top}" font-family="sans-serif" font-size="12">\n'
            f'<rect width="{WIDTH}" height="{top}" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n")


def write(folder):
    runs = Runs(folder)
    (folder / "report.md").write_text(markdown(runs))
    if runs.rates:
        (folder / "plot.svg").write_text(plot(runs))
    for theme in THEMES if any(w in PANELS for w, _ in runs.order) else ():
        (folder / f"chart-{theme}.svg").write_text(chart(runs, theme, figure))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
