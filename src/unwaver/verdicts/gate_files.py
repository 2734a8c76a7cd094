"""The outcome of a gate as files for CI: JUnit XML, and Markdown for the page of a job."""

from __future__ import annotations

from unwaver.text.shown import percent
from unwaver.verdicts.checks import GateOutcome, limits, shown_value


def junit(outcome: GateOutcome) -> str:
    """One test case a bar. Undecided is a failure, or skipped where it is allowed."""
    from xml.etree import ElementTree as xml

    checks, allow_undecided = outcome.checks, outcome.allow_undecided
    failed = [c for c in checks if c.verdict == "fail" or (c.verdict == "undecided" and not allow_undecided)]
    skipped = [c for c in checks if c.verdict == "undecided" and allow_undecided]
    numbers = {
        "tests": str(len(checks)),
        "failures": str(len(failed)),
        "skipped": str(len(skipped)),
        "errors": "0",
    }
    root = xml.Element("testsuites", {"name": "unwaver gate", **numbers})
    suite = xml.SubElement(root, "testsuite", {"name": "unwaver gate", **numbers})
    for check in checks:
        names = {"classname": _xml(check.case.replace("/", ".")), "name": _xml(f"{check.bar} ({check.model})")}
        case = xml.SubElement(suite, "testcase", {**names, "time": "0"})
        told = _xml("; ".join([shown_value(check), check.reason, *outcome.heading[1:]]))
        if check in failed:
            xml.SubElement(case, "failure", {"type": check.verdict, "message": told}).text = _xml(str(check))
        elif check in skipped:
            xml.SubElement(case, "skipped", {"message": f"undecided: {told}"})
    return xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _xml(text: str) -> str:
    """Without what XML cannot hold."""
    from unwaver.text.shown import safe

    return "".join(c if c not in "\ufffe\uffff" and not "\ud800" <= c <= "\udfff" else "�" for c in safe(text))


def markdown(outcome: GateOutcome) -> str:
    """A summary for the page of a CI job."""
    marks = {"pass": "✅ pass", "fail": "❌ fail", "undecided": "❔ undecided"}
    lines = [
        f"## unwaver gate: {marks[outcome.verdict]}",
        "",
        *(f"{_cell(line)}  " for line in outcome.heading),
        *([""] if outcome.heading else []),
        "| relation | model | bar | % | limits | accuracy | groups | verdict | why |",
        "|---|---|---|--:|--:|--:|--:|---|---|",
    ]
    for c in outcome.checks:
        cells = [c.case, c.model, c.bar, percent(c.value), limits(c), percent(c.accuracy), f"{c.counted:,}"]
        lines.append("| " + " | ".join(_cell(cell) for cell in [*cells, marks[c.verdict], c.reason]) + " |")
    return "\n".join([*lines, "", outcome.note, ""])


def _cell(text: str) -> str:
    """Text of data or models in a Markdown table: nothing in it is markup."""
    from unwaver.text.shown import safe

    flat = " ".join(safe(text).split())
    return "".join(f"&#{ord(c)};" if c in "|<>&`*_[]\\~!#@:" else c for c in flat)
