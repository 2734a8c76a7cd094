"""The pictures of README.md, made from a real run: `python docs/make_pictures.py`.

It runs the sample suite on the demo model, which takes a few minutes the first time; the answers are kept in
runs/, so that the next time asks nothing.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme

import unwaver
from unwaver.engine.load import load_run
from unwaver.metrics.broken import broken_groups
from unwaver.reports.side_by_side import print_group
from unwaver.reports.terminal import legend, print_result

PICTURES = Path(__file__).parent / "pictures"
MODEL = "demo/smollm2"
# The groups that the second picture shows, each of them broken
SHOWN = ("sample/boolq/negational", "sample/ag_news/semantic", "sample/mrpc/semantic")
FONTS = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"
THEME = TerminalTheme(
    (255, 255, 255),
    (36, 41, 47),
    [
        (36, 41, 47),
        (176, 35, 24),
        (17, 99, 41),
        (125, 78, 0),
        (9, 105, 218),
        (130, 80, 223),
        (27, 124, 131),
        (110, 119, 129),
    ],
)


def main(arguments: Sequence[str]) -> None:
    folder = Path(arguments[0]) if arguments else unwaver.run("sample", MODEL).folder
    assert folder is not None
    PICTURES.mkdir(exist_ok=True)
    result = unwaver.score(folder)
    draw("table", f"unwaver run sample --model {MODEL}", lambda console: table(result, console))
    draw("show", "unwaver show", lambda console: show(folder, console))


def table(result: unwaver.Result, console: Console) -> None:
    print_result(result, console)
    for line in legend(result):
        console.print(line, style="dim", markup=False, highlight=False)
    console.print()  # the picture cuts the feet of its last line


def show(folder: Path, console: Console) -> None:
    """What `unwaver show` prints, for the first broken group of some kinds."""
    run = load_run(folder)
    frame, groups = run.frame, {group.id: group for group in run.groups}
    broken = broken_groups(frame)
    for kind in SHOWN:
        group = next(name for name in broken if name.startswith(kind))
        answers = frame.filter(frame["group"] == group).to_dicts()
        print_group(groups[group], {a["item"]: [a] for a in answers}, console)


def draw(name: str, title: str, print_to: Callable[[Console], None]) -> None:
    console = Console(record=True, width=84, file=StringIO(), color_system="truecolor", force_terminal=True)
    print_to(console)
    svg = console.export_svg(title=title, theme=THEME, unique_id=name)
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)  # a picture fetches nothing
    svg = svg.replace("Fira Code, monospace", FONTS).replace("rgba(255,255,255,0.35)", "rgb(208,215,222)")
    path = PICTURES / f"{name}.svg"
    path.write_text(svg, encoding="utf-8")
    print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
