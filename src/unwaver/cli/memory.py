"""What to say when the memory is used up: what was being done, and what needs less."""

from __future__ import annotations

import errno
from types import TracebackType

from unwaver.errors import UnwaverError

# the deepest of these rooms and modules that was at work says what it was
_DOING = {
    "files": "reading a file",
    "logs": "reading logs",
    "tasks": "reading the tasks",
    "suites": "making the groups",
    "variants": "making variants",
    "groups": "making the groups",
    "engine": "working on the run",
    "asking": "asking a model",
    "asking.render": "writing the prompts",
    "models": "asking a model",
    "agree": "comparing answers",
    "train": "training",
    "answers": "reading the answers",
    "people": "reading what people said",
    "metrics": "computing scores",
    "stats": "computing intervals",
    "stats.paired": "comparing runs",
    "verdicts": "comparing runs",
    "reports": "writing the report",
    "analysis": "analysing",
    "study": "running the study",
    "project": "checking the project",
    "web": "serving pages",
}
_HINTS = {
    "asking a model": "use smaller batches (--model-arg batch_tokens=256) or fewer groups (--limit 100)",
    "training": "smaller batches need less: --batch 8, or a shorter --length",
}
_LESS = "process less at a time: --limit or --sample, a smaller file, or a machine with more memory"


def out_of_memory(error: BaseException) -> UnwaverError | None:
    """The error for a user, if this one is about memory: of Python, NumPy, PyTorch or the system."""
    text = str(error).lower()
    of_torch = isinstance(error, RuntimeError) and ("out of memory" in text or "allocate memory" in text)
    of_system = isinstance(error, OSError) and error.errno == errno.ENOMEM
    if not (isinstance(error, MemoryError) or of_torch or of_system):
        return None
    doing = _doing(error.__traceback__)
    error.__traceback__ = None  # its frames hold what filled the memory
    first_line = str(error).strip().split("\n", 1)[0]
    message = f"out of memory{f' while {doing}' if doing else ''}{f': {first_line}' if first_line else ''}"
    return UnwaverError(message, hint=_HINTS.get(doing, _LESS))


def _doing(trace: TracebackType | None) -> str:
    found = ""
    while trace is not None:
        package, *rooms = str(trace.tb_frame.f_globals.get("__name__", "")).split(".")
        if package == "unwaver" and rooms:
            found = _DOING.get(".".join(rooms[:2])) or _DOING.get(rooms[0], found)
        trace = trace.tb_next
    return found
