"""axe-core on a page: what people who use a keyboard or a screen reader cannot use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

GRAVE = ("serious", "critical")


def grave(page: Any) -> list[str]:
    """Serious and critical findings: ["color-contrast (serious): Elements must … : .progress > span"]."""
    package = pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    page.evaluate((Path(package.__path__[0]) / "axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [
        f"{rule['id']} ({rule['impact']}): {rule['help']}: {node['target'][0]}"
        for rule in found
        if rule["impact"] in GRAVE
        for node in rule["nodes"]
    ]
