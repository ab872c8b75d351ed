"""The chart of the README: medians of images/s on most processors, for light and for dark pages. report.py writes it."""
import statistics
from html import escape

from programs import PROGRAMS

PANELS = {"train": "train", "eval": "eval", "decode": "decode", "cifar": "CIFAR-10, JPEG"}
LEFT_OUT = ("plankton-exact", "plankton-noindex", "plankton-turbojpeg", "dali-tuned", "ceiling")  # variants, and what is no loader
THEMES = {
    "light": {"text": "#1f2328", "faint": "#59636e", "ours": "#c2410c", "other": "#8c959f"},
    "dark": {"text": "#f0f6fc", "faint": "#9198a1", "ours": "#fb923c", "other": "#6e7681"},
}
WIDTH, LABEL, HEAD, ROW, BAR, GAP = 880, 168, 40, 24, 14, 18


def chart(runs, theme, figure):
    """An SVG with a panel for each workload, its bars on a scale of its own."""
    c = THEMES[theme]
    most = max(cores for _, cores in runs.order)
    panels = [w for w in PANELS if (w, most) in runs.order]
    median = {(w, p): statistics.median(v) for w in panels for p in PROGRAMS
              if p not in LEFT_OUT and (v := runs.values((w, most), p, "images_per_s"))}
    programs = sorted({p for _, p in median}, key=lambda p: -median.get((panels[0], p), 0))
    wide = (WIDTH - LABEL - GAP * (len(panels) - 1)) / len(panels)
    high = HEAD + ROW * len(programs) + 22
    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {high}" width="{WIDTH}" height="{high}" role="img" '
           f'aria-label="Images per second of plankton and its peers" font-family="system-ui, sans-serif" font-size="12" fill="{c["text"]}">']
    for row, program in enumerate(programs):
        weight = ' font-weight="bold"' if program == "plankton" else ""
        svg.append(f'<text x="{LABEL - 10}" y="{HEAD + row * ROW + 12}" text-anchor="end"{weight}>{escape(PROGRAMS[program].label.strip("*"))}</text>')
    for i, workload in enumerate(panels):
        x = LABEL + i * (wide + GAP)
        scale = (wide - 62) / max(v for (w, _), v in median.items() if w == workload)
        svg.append(f'<text x="{x:.1f}" y="20" font-weight="bold">{PANELS[workload]}</text>')
        for row, program in enumerate(programs):
            if (workload, program) not in median:
                continue
            v, y = median[workload, program], HEAD + row * ROW
            svg.append(f'<rect x="{x:.1f}" y="{y}" width="{max(v * scale, 1):.1f}" height="{BAR}" rx="2" fill="{c["ours" if program == "plankton" else "other"]}"/>')
            svg.append(f'<text x="{x + v * scale + 6:.1f}" y="{y + 12}">{figure(v)}</text>')
    rounds, cores = runs.about["rounds"], f"{most} processor{'s' if most > 1 else ''}"
    svg.append(f'<text x="{LABEL}" y="{high - 6}" fill="{c["faint"]}" font-size="11">images/s on {cores}, medians of {rounds} rounds in turns; each panel has a scale of its own</text>')
    return "\n".join(svg) + "\n</svg>\n"
