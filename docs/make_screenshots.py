"""The screenshots of README and docs/report.md: `python docs/make_screenshots.py DEMO-RUN [BECEL-RUN]`.

DEMO-RUN is the folder of `make demo`, BECEL-RUN that of a run of becel/snli. Of
the latter no group is shown: its texts are not ours. Needs Playwright and chromium.
"""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from unwaver.reports.page import page
from unwaver.reports.source import read_sources

PICTURES = Path(__file__).parent / "pictures"
WIDE, NARROW = {"width": 1400, "height": 900}, {"width": 400, "height": 860}
# name, run, size, colours, the section at the top
SHOTS = (
    ("report-demo", "demo", WIDE, "light", "verdict"),
    ("report-demo-groups", "demo", WIDE, "dark", "explorer"),
    ("report-demo-phone", "demo", NARROW, "dark", "verdict"),
    ("report-demo-phone-groups", "demo", NARROW, "light", "explorer"),
    ("report-becel", "becel", WIDE, "dark", "verdict"),
    ("report-becel-figures", "becel", WIDE, "light", "figures"),
    ("report-becel-phone", "becel", NARROW, "light", "verdict"),
    ("report-becel-phone-figures", "becel", NARROW, "dark", "figures"),
)


def main(demo: Path, becel: Path | None = None) -> None:
    files: dict[str, Path] = {}
    for name, run in (("demo", demo), ("becel", becel)):
        if run is None:
            continue
        files[name] = run / "report.html"
        files[name].write_text(page(read_sources([run])), encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, run, size, colours, section in SHOTS:
            if run not in files:
                continue
            context = browser.new_context(viewport=size, color_scheme=colours, device_scale_factor=1)
            shown = context.new_page()
            shown.goto(files[run].resolve().as_uri())
            shown.wait_for_selector("html[data-ready]")
            if run == "becel":
                shown.evaluate("document.getElementById('broke').remove()")
            if section != "verdict":
                shown.evaluate(
                    "name => document.getElementById(name).scrollIntoView({behavior: 'instant'})", section
                )
                shown.wait_for_timeout(300)
            save(name, shown.screenshot())
            context.close()
        browser.close()


def save(name: str, png: bytes) -> None:
    """With 256 colours, which a page of text does not need more of."""
    whole = Image.open(io.BytesIO(png)).convert("RGB")
    image: Any = whole.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    path = PICTURES / f"{name}.png"
    image.save(path, optimize=True)
    print(path, f"{path.stat().st_size:,}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
