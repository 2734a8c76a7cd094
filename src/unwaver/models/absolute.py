"""A slip of everyone: hf/models/x where /models/x is meant, which is written hf//models/x."""

from __future__ import annotations

from pathlib import Path


def absolute_hint(provider: str, name: str, otherwise: str) -> str:
    """What to write where the name is that of an absolute path without its first slash; else `otherwise`."""
    try:
        is_slip = not name.startswith(("/", "~", ".")) and Path(f"/{name}").exists()
    except (OSError, ValueError):  # too long
        is_slip = False
    return f"/{name} exists: an absolute path needs its own slash: {provider}//{name}" if is_slip else otherwise
