"""The notebook of the docs, executed in a kernel as Jupyter does it, and what cells show while work goes on."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from unwaver.reports import notebook
from unwaver.text.displayed import notes, table
from unwaver.text.shown import escaped

DOCS = Path(__file__).parent.parent / "docs"
PROGRESS = """
from unwaver.reports import notebook
import unwaver
notebook.PATIENCE = notebook.SELDOM = 0.0
async def bot(prompt: str) -> str:
    return "True"
result = unwaver.run("sample/snli", [bot, "fake/random"], out="run")
print(str(result)[:6])
"""


def executed(cells: list[str], place: Path) -> Any:
    """A notebook of these cells, with the outputs that they have when nbclient executes it."""
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    client = pytest.importorskip("nbclient", reason="nbclient is not installed")
    form = pytest.importorskip("nbformat").v4
    found = form.new_notebook(cells=[form.new_code_cell(text) for text in cells])
    resources = {"metadata": {"path": str(place)}}
    client.NotebookClient(found, timeout=600, kernel_name="python3", resources=resources).execute()
    return found


def shown(cell: Any) -> list[str]:
    return [output.output_type for output in cell.outputs]


@pytest.mark.slow
def test_the_notebook_of_the_docs(tmp_path: Path) -> None:
    stored = json.loads((DOCS / "notebook.ipynb").read_text(encoding="utf-8"))
    codes = ["".join(cell["source"]) for cell in stored["cells"] if cell["cell_type"] == "code"]
    done = executed(codes, tmp_path)
    pages = ["".join(o.get("data", {}).get("text/html", "") for o in cell.outputs) for cell in done.cells]
    every = "\n".join(pages)
    assert "1 in 2 paraphrases changes the answer" in every
    assert "new_bot (new) against old_bot (old)" in every
    assert "data:image/svg+xml;base64," in every
    assert every.count('class="unwaver"') == 5
    # one output a cell: neither progress nor printed tables stay behind
    assert all(len(cell.outputs) <= 1 for cell in done.cells)
    assert "hint: " in done.cells[-1].outputs[0].text


def test_it_is_stored_without_outputs_and_names_no_machine() -> None:
    text = (DOCS / "notebook.ipynb").read_text(encoding="utf-8")
    stored = json.loads(text)
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in stored["cells"])
    assert not re.search(r"/(work|home|tmp|root)/", text)


@pytest.mark.slow
def test_progress_stays_in_one_place_and_is_gone_at_the_end(tmp_path: Path) -> None:
    (cell,) = executed([PROGRESS], tmp_path).cells
    assert shown(cell) == ["display_data", "stream"]
    assert cell.outputs[0].data["text/html"] == ""
    assert cell.outputs[1].text == "sample\n"


def test_outside_of_a_notebook_there_is_no_progress() -> None:
    assert not notebook.in_notebook()


def test_progress_shows_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook, "PATIENCE", 0.0)
    monkeypatch.setattr(notebook, "SELDOM", 0.0)
    seen: list[dict[str, str]] = []
    monkeypatch.setattr(
        notebook._Bar, "_display", lambda self, bundle: (seen.append(bundle), setattr(self, "_handle", 1))
    )
    console = notebook.notebook_console()
    with console.track("<b>model</b>", 4) as progress:
        progress(1)
        console.waiting("the server asks to wait")
        console.waiting("")
        progress(3)
    assert [each["text/plain"] for each in seen] == [
        "<b>model</b>: 1 / 4", "the server asks to wait: 1 / 4", "<b>model</b>: 1 / 4", "<b>model</b>: 4 / 4", "",
    ]  # fmt: skip
    assert "<b>" not in seen[0]["text/html"]
    assert seen[-1]["text/html"] == ""


def test_work_that_is_done_soon_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook, "PATIENCE", 3600.0)
    monkeypatch.setattr(notebook._Bar, "_display", lambda self, bundle: pytest.fail("shown"))
    with notebook.notebook_console().track("model", 2) as progress:
        progress(2)


def test_html_is_escaped() -> None:
    assert escaped('<a href="x">\x1b\u202e\u061c&') == "&lt;a href=&quot;x&quot;&gt;���&amp;"
    page = table([["<i>", "n"], ["<b>", "1"]], left=("<i>",)) + notes(["<u>"] * 9)
    assert not re.search(r"<[ibu]>", page)
    assert "9 notes" in page
