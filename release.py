"""Tests a wheel as a stranger has it: an empty environment, an empty folder, nothing but the wheel.

python release.py dist/unwaver-0.1.0-py3-none-any.whl
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

NEEDED = ("unwaver/py.typed", "unwaver/tasks/built_in.toml", "unwaver/project/checking.py")
ANSWERS = "group,kind,role,label\n" + "".join(
    f"q{n},semantic,{role},yes\n" for n in range(100) for role in ("original", "variant")
)
# what is typed, with the exit code that it must have
COMMANDS: list[tuple[int, str]] = [
    (0, "unwaver --version"),
    (0, "unwaver run sample --model fake/random --out first -q"),
    (0, "unwaver show first --limit 1"),
    (1, "unwaver gate first --max tau=0.01"),
    (0, "unwaver doctor"),
    (0, "unwaver init --from answers.csv"),
    (0, "unwaver check --accept"),
    (0, "unwaver check"),
    (2, "unwaver run sample --model hf/none"),  # the extra is not there, and the message says which
]


def main(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    if missing := [name for name in NEEDED if name not in names]:
        sys.exit(f"{wheel.name} lacks {', '.join(missing)}")
    if tests := [name for name in names if name.startswith("tests/") or "/tests/" in name]:
        sys.exit(f"{wheel.name} holds tests: {tests[0]}")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        venv.create(place / "venv", with_pip=True)
        bin = place / "venv" / "bin"
        run(
            [bin / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel.resolve()],
            place,
        )
        (place / "answers.csv").write_text(ANSWERS)
        for code, command in COMMANDS:
            words = command.split()
            done = run([bin / words[0], *words[1:]], place, code)
            print(f"ok  {command}")
            if "hf/none" in command and "pip install 'unwaver[hf]'" not in done.stderr:
                sys.exit(f"no hint for the missing extra:\n{done.stderr}")


def run(command: list[object], place: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    hidden = ("PYTHONPATH", "UNWAVER_DATA", "UNWAVER_MODELS", "VIRTUAL_ENV")
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run([*map(str, command)], cwd=place, env=env, capture_output=True, text=True, check=False)
    if done.returncode != code:
        sys.exit(f"{command}: exit {done.returncode}, expected {code}\n{done.stdout}\n{done.stderr}")
    return done


if __name__ == "__main__":
    main(Path(sys.argv[1]))
