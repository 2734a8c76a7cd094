"""The report in a real browser, on runs of real parts of unwaver."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import Opened, launched

import unwaver
from unwaver.answers.table import table_of
from unwaver.metrics.score import score_frame
from unwaver.reports.explorer import BROKEN, columns
from unwaver.reports.page import page
from unwaver.reports.source import Source, read_sources
from unwaver.result import Result
from unwaver.types import Answer, Group, Item

pytest.importorskip("vl_convert", reason="vl-convert-python is not installed")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as found:
        yield found


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of two models on the sample suite."""
    place = tmp_path_factory.mktemp("sample") / "run"
    unwaver.run("sample", ["fake/random", "fake/keyword"], out=str(place))
    return written(place)


def written(*places: Path) -> Path:
    path = places[0].parent / "report.html"
    path.write_text(page(read_sources(places)), encoding="utf-8")
    return path


@pytest.fixture
def opened(browser: Any, sample: Path) -> Iterator[Opened]:
    found = Opened(browser, sample)
    yield found
    assert found.trouble == []
    found.close()


def count(opened: Opened) -> int:
    """How many groups the line above the list names."""
    return int(opened.page.inner_text("#count").split(" of ")[0].replace(",", ""))


def find(opened: Opened, words: str) -> None:
    """Type words, and wait as long as the page waits for more of them. The policy forbids to wait by a script."""
    opened.page.fill("#words", words)
    opened.page.wait_for_timeout(400)


def cases(opened: Opened) -> list[str]:
    return opened.page.locator(".case:visible").all_inner_texts()


# --- what there is ------------------------------------------------------------------------------------------


def test_first_screen_has_the_verdict_and_then_the_scores(opened: Opened) -> None:
    page = opened.page
    assert page.locator("#verdict li").count() >= 6
    assert re.search(r"\d in \d+ \w+|every|none of", page.inner_text("#verdict li >> nth=0"))
    tops = [
        page.locator(f"#{name}").bounding_box()["y"]
        for name in ("verdict", "scores", "figures", "explorer", "how")
    ]
    assert tops == sorted(tops)
    assert page.locator("#verdict").bounding_box()["y"] < 200
    header = page.locator("#scores thead").first.inner_text()
    for name in ("95 % interval", "accuracy", "counted", "not applicable", "unreadable"):
        assert name in header


def test_charts_are_drawn(opened: Opened) -> None:
    drawings = opened.page.locator("#figures figure .drawing svg")
    assert drawings.count() >= 6
    sizes = drawings.evaluate_all(
        "all => all.filter(s => s.checkVisibility()).map(s => [s.getBoundingClientRect().width, "
        "s.querySelectorAll('path[fill], path[stroke]').length, s.querySelectorAll('text').length])"
    )
    assert all(width > 100 and marks > 0 and texts > 1 for width, marks, texts in sizes), sizes
    assert "fake/random" in opened.page.inner_text("#figures")
    assert opened.page.locator("#figures svg title").count() > 20  # what a mark says when it is touched


def test_every_number_leads_to_how_it_was_computed(opened: Opened) -> None:
    page = opened.page
    links = page.locator("#verdict a.basis, #scores td a, #figures figcaption a")
    targets = set(links.evaluate_all("all => all.map(a => a.getAttribute('href').slice(1))"))
    assert len(targets) >= 3
    for target in targets:
        assert page.locator(f"details[id='{target}']").count() == 1, target
    page.locator("#scores td a").first.click()
    assert page.locator("details.method:target").get_attribute("open") is not None
    said = page.inner_text("details.method:target")
    assert "Formula" in said
    assert "BECEL" in said
    assert "unwaver score" in page.inner_text("#how")
    assert unwaver.__version__ in page.inner_text("#how")


def test_filters_work(opened: Opened, sample: Path) -> None:
    page = opened.page
    data = columns(read_sources([sample.parent / "run"]))
    broken = sum(state == BROKEN for state in data["case"]["state"])
    assert count(opened) == broken
    relations = [r for r in data["relations"] if r[2] == "symmetric" and r[1] == "snli"]
    wanted = data["relations"].index(relations[0])
    page.select_option("#relation", "sample/snli/symmetric")
    chosen = [n for n, r in enumerate(data["case"]["relation"]) if r == wanted]
    assert count(opened) == sum(data["case"]["state"][n] == BROKEN for n in chosen)
    assert all("snli/symmetric" in text for text in cases(opened))
    page.select_option("#state", "all")
    assert count(opened) == len(chosen)
    page.select_option("#model", "fake/keyword (fake)")
    model = data["models"].index(["fake/keyword", "fake"])
    assert count(opened) == sum(data["case"]["model"][n] == model for n in chosen)
    for name in ("#relation", "#model"):
        page.select_option(name, "all")
    page.select_option("#state", "sure")
    sure = [n for n, s in enumerate(data["case"]["sure"]) if s >= 90 and data["case"]["state"][n] == BROKEN]
    assert count(opened) == len(sure)
    page.select_option("#state", "all")
    everything = count(opened)
    page.select_option("#label", "neutral")
    assert 0 < count(opened) < everything
    assert all("neutral" in text for text in cases(opened))
    page.select_option("#label", "any")
    find(opened, "zzz no such words")
    assert count(opened) == 0
    assert cases(opened) == []


def test_worst_first_and_differences_side_by_side(opened: Opened) -> None:
    page = opened.page
    page.select_option("#relation", "sample/snli/negational")
    page.locator(".case").first.click()
    assert page.locator("#group .side").count() >= 3  # the premise, the original, the variant
    assert page.locator("#group ins").count() >= 1
    assert page.locator("#group .probs .share").count() == 6  # three labels, two answers
    before = page.inner_text("#group h3")
    page.focus("#list")
    page.keyboard.press("ArrowDown")
    assert page.inner_text("#group h3") != before


def test_transitive_and_additive_as_premises_and_conclusion(opened: Opened) -> None:
    page = opened.page
    page.select_option("#state", "all")
    for relation in ("sample/wic/transitive", "sample/sst2/additive"):
        page.select_option("#relation", relation)
        said = page.inner_text("#group")
        assert "premise 1" in said
        assert "premise 2" in said
        assert "so: conclusion, must be" in said


def test_on_a_phone_nothing_sticks_out(browser: Any, sample: Path) -> None:
    found = Opened(browser, sample, viewport={"width": 400, "height": 800}, color_scheme="dark")
    assert found.page.evaluate("document.documentElement.scrollWidth") <= 400
    back = found.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(map(int, re.findall(r"\d+", back)[:3])) < 60
    found.page.click("#theme")
    back = found.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert min(map(int, re.findall(r"\d+", back)[:3])) > 200
    assert found.trouble == []
    found.close()


BROKEN_WORDS = """() => {
  const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!parent.checkVisibility() || parent.closest("script, style, svg, pre, .settings")) continue;
    for (const word of node.data.matchAll(/[^\\s\\/_.:=@,()-]+/g)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const tops = new Set([...range.getClientRects()].map((r) => Math.round(r.top)));
      if (tops.size > 1 && word[0].length < 32) found.push(word[0] + " in " + node.data.slice(0, 80));
    }
  }
  return found;
}"""


def test_on_a_phone_no_name_breaks_inside_a_word(browser: Any, tmp_path: Path) -> None:
    model = "an_organisation/quantised-conversational-model_with_a_long_name"
    rows = [
        {"task": "frequently_asked_questions_of_customers", "kind": kind, "model": model, "group": f"{kind}/{n}",
         "item": f"{n}{role}", "role": role, "label": "yes" if n % 3 or role == "original" else None, "gold": "yes"}
        for kind in ("surface_punctuation", "semantic")
        for n in range(30)
        for role in ("original", "variant")
    ]  # fmt: skip
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    unwaver.run("sample/facts", "fake/random", out=str(tmp_path / "run"), replicates=2)
    for place in (tmp_path / "t.jsonl", tmp_path / "run"):
        found = Opened(browser, written(place), viewport={"width": 400, "height": 800})
        found.page.evaluate("document.querySelectorAll('details:not(.all)').forEach(d => { d.open = true })")
        assert found.page.evaluate(BROKEN_WORDS) == []
        assert found.page.evaluate("document.documentElement.scrollWidth") <= 400
        assert found.trouble == []
        found.close()


def test_without_scripts_all_but_the_list_is_there(browser: Any, sample: Path) -> None:
    found = Opened(browser, sample, java_script_enabled=False)
    assert found.page.locator("#verdict li").count() >= 6
    assert found.page.locator("#figures svg").count() >= 6
    assert "needs JavaScript" in found.page.inner_text("#explorer")
    found.close()


def test_prints(browser: Any, sample: Path) -> None:
    found = Opened(browser, sample)
    found.page.emulate_media(media="print")
    assert not found.page.is_visible("#list")
    assert found.page.is_visible("#verdict")
    assert found.page.pdf().startswith(b"%PDF")
    assert found.trouble == []
    found.close()


# --- nothing runs -------------------------------------------------------------------------------------------


def test_the_policy_lets_nothing_else_run(opened: Opened) -> None:
    """Even a script of the page's own could not run a text; what a debugger does is let through, so all is tried
    a moment later."""
    tried = [
        "eval('window.ran = 1')",
        "new Function('window.ran = 2')()",
        "setTimeout('window.ran = 3')",
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=window.ran=4>')",
        "document.getElementById('count').innerHTML = '<b onclick=window.ran=5>x</b>'",
        "const s = document.createElement('script'); s.append('window.ran = 6'); document.head.append(s)",
        "document.body.setAttribute('onclick', 'window.ran = 7'); document.body.click()",
        "location.href = 'javascript:window.ran = 8'",
        "fetch('http://192.0.2.1/').catch(() => {})",
    ]
    for code in tried:
        opened.page.evaluate("setTimeout(() => { try { " + code + " } catch (e) { window.refused = e.name } })")
    opened.page.wait_for_timeout(300)
    assert opened.page.evaluate("window.ran") is None
    assert opened.page.evaluate("window.refused") is not None
    assert not [line for line in opened.trouble if line.startswith(("request http", "dialog", "page"))]
    opened.trouble.clear()  # the browser complains of what was tried


RUN = "window.ran=(window.ran||0)+1"
_SHAPES = (
    "<script>{}</script>",
    "</script><script>{}</script>",
    "</title></style></textarea><script>{}</script>",
    "<img src=x onerror={}>",
    "<svg onload={}>",
    "<svg><script>{}</script></svg>",
    "<body onload={}>",
    "<iframe srcdoc='<script>parent.{}</script>'></iframe>",
    "<iframe src=javascript:{}>",
    "<a href=javascript:{}>x</a>",
    "<details open ontoggle={}>",
    "<input autofocus onfocus={}>",
    "<video><source onerror={}></video>",
    "<math><mtext><style><img src=x onerror={}></style></mtext></math>",
    "<style>@import 'http://192.0.2.1/x.css';</style>{}",
    "<link rel=stylesheet href=http://192.0.2.1/x.css>{}",
    "<meta http-equiv=refresh content='0;url=javascript:{}'>",
    "<base href=http://192.0.2.1/>{}",
    "<object data=http://192.0.2.1/x>{}</object>",
    "<form action=http://192.0.2.1/><button>{}</button></form>",
    "\"'><script>{}</script>",
    "' onmouseover='{}",
    '" autofocus onfocus="{}',
    "javascript:{}",
    "data:text/html,<script>{}</script>",
    "{{{{constructor.constructor('{}')()}}}}",
    "${{{}}}",
    "<%= {} %>",
    "#{{{}}}",
    "[[{}]]",
    "]]><script>{}</script>",
    "<!--<script>{}</script>-->",
    "--><script>{}</script>",
    "&lt;script&gt;{}&lt;/script&gt;",
    "\\u003cscript\\u003e{}\\u003c/script\\u003e",
    "datum.constructor.constructor('{}')()",
    "{{\"signal\": \"{}\"}}",
    "{{\"expr\": \"{}\"}}",
    "=cmd|'{}'!A1",
    "\x1b]8;;http://192.0.2.1\x07{}\x1b]8;;\x07",
    "\x1b[31m{}\x1b[2J",
    "\u202e{}\u202c",
    "\u2066\u2067{}\u2069",
    "a\x00<script>{}</script>\x00",
    "\u2028<script>{}</script>\u2029",
    "\ufeff<script>{}</script>",
    "\xad<scr\xadipt>{}</scr\xadipt>",
    "＜script＞{}＜/script＞",
    "<scr<script>ipt>{}</scr</script>ipt>",
    "<ScRiPt x>{}</sCrIpT >",
)  # fmt: skip
HOSTILE = [shape.format(RUN) for shape in _SHAPES]
HOSTILE += [text + " " + "x" * 3000 for text in HOSTILE[:40]]  # very long
HOSTILE += [f"{n} " + text.swapcase() for n, text in enumerate(HOSTILE[:50])]
HOSTILE += [f"{text}\n{text}" for text in HOSTILE[:50]]
HOSTILE += ["<script>" + RUN + "</script>" + "y" * 200_000] * 10


def test_there_are_two_hundred_of_them() -> None:
    assert len(HOSTILE) >= 200


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run and a table with hostile strings everywhere: texts, labels, answers, models, tasks, kinds, files."""
    place = tmp_path_factory.mktemp("hostile")
    lines, predictions = [], []
    for n, text in enumerate(HOSTILE):
        choices = [f"{text}", f"no {text}"]
        items = [
            {"id": f"{n}/0/{text[:500]}", "text": f"{text} asked", "choices": choices, "accepted": [choices[0]]},
            {"id": f"{n}/1/{text[:500]}", "text": f"again {text}", "choices": choices, "accepted": [choices[0]]},
        ]
        lines.append({"id": f"{n} {text}", "tag": text, "items": items})
        predictions += [
            {"id": item["id"], "label": choices[k], "probs": [0.95 - 0.9 * k, 0.05 + 0.9 * k]}
            for k, item in enumerate(items)
        ]
    own = place / "<img src=x onerror=window.ran=1>.jsonl"
    own.write_text("".join(json.dumps(line) + "\n" for line in lines))
    answers = place / "<svg onload=window.ran=1>'\"&.jsonl"
    answers.write_text("".join(json.dumps(line) + "\n" for line in predictions))
    unwaver.run(str(own), f"predictions/{answers}", out=str(place / "run <b>"))
    rows = [
        {"suite": text, "task": text[:2000], "kind": "semantic", "model": text, "method": text[:300], "group": text, "item": f"{text}{k}",
         "role": role, "label": f"{k} {text}", "gold": f"0 {text}"}
        for text in HOSTILE[:60]
        for k, role in enumerate(("original", "variant"))
    ]  # fmt: skip
    for model in ("<b>one", "{{two}}"):  # and many with the same labels, for figures
        rows += [
            {"suite": "s", "task": "</script><script>window.ran=1</script>", "kind": f"semantic_{n % 3}<i>", "model": model, "method": "m", "group": f"g{n}", "item": f"{n}{role}",
             "role": role, "label": HOSTILE[(n * 7 + k * n) % 5], "gold": HOSTILE[n % 5], "probs": [0.9, 0.1]}
            for n in range(40)
            for k, role in enumerate(("original", "variant"))
        ]  # fmt: skip
    table = place / "table onerror=window.ran=1.jsonl"
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return written(place / "run <b>", table)


def test_hostile_strings_run_nothing(browser: Any, hostile: Path) -> None:
    found = Opened(browser, hostile)
    page = found.page
    assert count(found) > 200
    for name in ("state", "relation", "model"):
        values = page.locator(f"#{name} option").evaluate_all("all => all.map(o => o.value)")
        for value in values[:: max(1, len(values) // 12)]:
            page.select_option(f"#{name}", value)
        page.select_option(f"#{name}", values[-1] if name == "state" else values[0])
    for _ in range(0, 260, 4):  # every fourth group, and all of them pass by
        page.focus("#list")
        for _ in range(4):
            page.keyboard.press("ArrowDown")
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    for mark in page.locator("#figures path:visible").all()[:20]:
        mark.hover(force=True)
    page.wait_for_timeout(300)
    assert page.evaluate("window.ran") is None
    assert page.evaluate("document.querySelectorAll('script').length") == 2  # the groups and our own
    inside = "#verdict, #scores, #figures, #explorer, #how"
    forbidden = (
        "script, iframe, img, object, embed, link, base, form, video, a[href^='javascript'], [onerror], [onload]"
    )
    assert (
        page.evaluate(
            "([a, b]) => [...document.querySelectorAll(a)].map(e => e.querySelectorAll(b).length)",
            [inside, forbidden],
        )
        == [0] * 5
    )
    assert found.trouble == []
    found.close()


def test_hostile_strings_are_shown_as_they_are(browser: Any, hostile: Path) -> None:
    found = Opened(browser, hostile)
    page = found.page
    page.select_option("#state", "all")
    for text in (HOSTILE[0], HOSTILE[3], HOSTILE[23], HOSTILE[25]):
        find(found, f"{text} asked")
        page.locator(".case:visible").first.click()
        assert f"{text} asked" in page.locator("#group").text_content()
    assert found.trouble == []
    found.close()


# --- one hundred thousand groups ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Groups of the size of SNLI's: three hypotheses share a premise, two labels in three are the same."""
    groups, answers = snli_sized(100_000)
    frame = table_of(groups, answers, {}, model="large", method="classify")
    source = Source("large", frame, Result(score_frame(frame)), {g.id: g for g in groups})
    path = tmp_path_factory.mktemp("large") / "report.html"
    path.write_text(page([source]), encoding="utf-8")
    return path


LABELS = ("entailment", "neutral", "contradiction")


def snli_sized(size: int) -> tuple[list[Group], dict[tuple[str, int], Answer]]:
    random = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(random.choice(letters, n)) for n in random.integers(2, 9, 12_000)]
    drawn = np.minimum((random.pareto(0.9, size * 22) * 5).astype(int), 11_999)  # few words are frequent
    at = 0

    def text(length: int) -> str:
        nonlocal at
        at += length
        return " ".join(words[n] for n in drawn[at - length : at]).capitalize() + "."

    groups, answers = [], {}
    chosen = random.integers(0, 3, (size, 2))
    chosen[:, 1] = np.where(random.random(size) < 0.7, chosen[:, 0], chosen[:, 1])
    sure = np.log(random.uniform(0.4, 0.99, (size, 2)))
    premise = ""
    for n in range(size):
        if n % 3 == 0:
            premise = text(14)
        kind, hypothesis = ("semantic", "symmetric", "negational")[n % 3], text(7)
        changed = hypothesis.replace(" ", " not ", 1)
        fields = ({"premise": premise, "hypothesis": hypothesis}, {"premise": premise, "hypothesis": changed})
        items = tuple(
            Item(f"{n}/{k}", "snli", "variant" if k else "original", fields[k], LABELS, (LABELS[n % 3],))
            for k in (0, 1)
        )
        expect: Any = "different" if kind == "negational" else "same"
        groups.append(Group(f"large/snli/{kind}/{n}", "large", "snli", kind, expect, items))
        for k in (0, 1):
            rest = float(np.log((1 - np.exp(sure[n, k])) / 2))
            logs = [rest] * 3
            logs[chosen[n, k]] = float(sure[n, k])
            answers[f"{n}/{k}", 0] = Answer(logprobs=tuple(logs))
    return groups, answers


def test_a_hundred_thousand_groups(browser: Any, large: Path) -> None:
    """However many groups there are, only rows that are seen are laid out; bench/report_page.py times it."""
    assert large.stat().st_size < 30_000_000
    found = Opened(browser, large)
    page = found.page
    assert "of 100,000 groups" in page.inner_text("#count")
    label = page.locator("#label option").nth(2).get_attribute("value")
    choose = "([id, value]) => { const c = document.getElementById(id); c.value = value; " + (
        "c.dispatchEvent(new Event('change')); return document.querySelectorAll('.case').length; }"
    )
    for name, value in (("state", "all"), ("relation", "1"), ("label", label), ("relation", "-1")):
        assert page.evaluate(choose, [name, value]) < 40
    page.evaluate("document.getElementById('words').value = 'not'")
    assert page.evaluate(choose, ["state", "broken"]) < 40
    page.evaluate(choose, ["state", "all"])
    assert page.locator(".case").count() < 40  # rows that are seen, not all
    page.evaluate("const l = document.getElementById('list'); l.scrollTop = l.scrollHeight")
    page.wait_for_timeout(100)
    assert 1 <= len(cases(found)) < 40
    assert found.trouble == []
    found.close()


# --- the command --------------------------------------------------------------------------------------------


def test_a_run_writes_it_and_prints_its_path(unwaver: Any, tmp_path: Path) -> None:
    done = unwaver("run", "sample/snli", "--model", "fake/random", "--out", "here")
    assert done.returncode == 0, done.stderr
    assert "Report: here/report.html" in done.stdout
    assert (tmp_path / "here" / "report.html").read_text().startswith("<!doctype html>")
    other = unwaver("run", "sample/snli", "--model", "fake/random", "--out", "there", "--no-report")
    assert "Report" not in other.stdout
    assert not (tmp_path / "there" / "report.html").exists()
    silent = unwaver("run", "sample/snli", "--model", "fake/random", "--out", "json", "--json")
    assert json.loads(silent.stdout)["scores"]
    assert not (tmp_path / "json" / "report.html").exists()


def test_a_page_of_the_same_run_stays(unwaver: Any, tmp_path: Path) -> None:
    """A second run that asks nothing has nothing new to show, and making a page takes time."""
    place = tmp_path / "r" / "report.html"
    command = ("run", "sample/snli", "--model", "fake/random", "--out", place.parent, "-q")
    written = [unwaver(*command).returncode or place.stat().st_mtime_ns for _ in range(2)]
    assert written[0] == written[1]
    for _ in range(2):
        assert unwaver(*command, "--without-texts").returncode == 0
        assert "left out (--without-texts)" in place.read_text(), "another page of the same run"
        assert unwaver(*command).returncode == 0
        assert "left out (--without-texts)" not in place.read_text()


def test_without_the_extra_a_run_still_succeeds(tmp_path: Path) -> None:
    code = "import sys; sys.modules['vl_convert'] = None; from unwaver.cli.main import main; main(sys.argv[1:])"

    def call(*args: str) -> Any:
        return subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, cwd=tmp_path)

    done = call("run", "sample/snli", "--model", "fake/random", "--out", "here")
    assert done.returncode == 0, done.stderr
    assert "pip install 'unwaver[report]'" in done.stdout
    failed = call("report", "here")
    assert failed.returncode == 2
    assert "pip install 'unwaver[report]'" in failed.stderr
    table = call("report", "here", "--format", "md")  # tables need nothing more
    assert table.returncode == 0
    assert "| snli" in table.stdout or "| sample/snli" in table.stdout


@pytest.mark.parametrize(("form", "begins"), [("png", b"\x89PNG"), ("svg", b"<svg"), ("pdf", b"%PDF")])
def test_figures_for_papers(unwaver: Any, tmp_path: Path, form: str, begins: bytes) -> None:
    unwaver("run", "sample/snli", "sample/rte", "--model", "fake/random", "--out", "run", "--no-report")
    done = unwaver("report", "run", "--format", form, "--out", "figures")
    assert done.returncode == 0, done.stderr
    paths = [tmp_path / line for line in done.stdout.split()]
    assert len(paths) >= 4
    assert all(path.read_bytes().startswith(begins) for path in paths)


def test_one_report_of_several_runs_and_a_log(unwaver: Any, tmp_path: Path, browser: Any) -> None:
    unwaver("run", "sample/snli", "--model", "fake/random", "--out", "a", "--no-report")
    unwaver(
        "run", "sample/snli", "--model", "fake/random", "--seed", "3", "--sample", "5", "--out", "b", "--no-report"
    )
    (tmp_path / "log.csv").write_text(
        "group,kind,role,label,gold\n1,bucket,variant,a,a\n1,bucket,variant,b,a\n2,bucket,variant,a,a\n2,bucket,variant,a,a\n"
    )
    done = unwaver("report", "a", "b", "log.csv", "--out", "all.html")
    assert done.returncode == 0, done.stderr
    found = Opened(browser, tmp_path / "all.html")
    said = found.page.inner_text("#scores")
    for name in ("fake/random (a)", "fake/random (b)", "own/bucket"):
        assert name in said
    assert found.trouble == []
    found.close()


def test_free_text_and_repeats_in_the_list(browser: Any, tmp_path: Path) -> None:
    lines = [
        {
            "items": [
                {"text": f"What is {n}?", "accepted": ["yes"]},
                {"text": f"{n} is what?"},
                {"text": f"Tell me {n}."},
            ]
        }
        for n in range(4)
    ]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    rows = [
        {
            "id": f"questions/own/semantic/{n + 1}/{k}",
            "replicate": r,
            "text": f"yes {k * n} of it" if r else "yes it is",
        }
        for n in range(4)
        for k in range(3)
        for r in range(3)
    ]
    (tmp_path / "said.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    unwaver.run(
        str(tmp_path / "questions.jsonl"),
        f"predictions/{tmp_path / 'said.jsonl'}",
        replicates=3,
        agree=("exact", "rouge1"),
        out=str(tmp_path / "run"),
    )
    found = Opened(browser, written(tmp_path / "run"))
    assert count(found) >= 1
    said = found.page.inner_text("#group")
    assert "× 2" in said
    assert "yes it is" in said
    assert "agree" in found.page.inner_text("#verdict")
    assert "Do the notions of agreement agree?" in found.page.inner_text("#figures")
    assert found.trouble == []
    found.close()
