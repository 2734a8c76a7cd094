"""unwaver init."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from unwaver.cli import completion
from unwaver.cli.options import FORCE, PATH
from unwaver.cli.sections import option, section, verb
from unwaver.errors import UsageError

if TYPE_CHECKING:
    from unwaver.project.init import Choices


@verb(
    "init",
    examples=(
        "unwaver init --from questions.csv --model openai/NAME",
        "unwaver init --from questions.csv --model openai/NAME,key_env=BOT_KEY",
        "unwaver init --from answers.csv --force",
    ),
)
@section(
    "What to check",
    option("--from", "file", type=PATH, metavar="FILE", help="Questions, groups, or a log of another tool."),
    option(
        "--model",
        metavar="PROVIDER/NAME",
        shell_complete=completion.models,
        help="Model to check, with options. A key is named, never given: key_env=NAME.",
    ),
    option("--agree", metavar="NAME", help="How to compare answers in free text. [default: the model judges]"),
)
@section(
    "Output",
    option("--schema", is_flag=True, help="Print the JSON Schema of unwaver.toml for editors, and write nothing."),
    FORCE.but(help="Overwrite an existing unwaver.toml."),
)
def command(file: Path | None, model: str | None, agree: str | None, schema: bool, force: bool) -> None:
    """Write unwaver.toml, the file that `unwaver check` follows.

    On a terminal, unwaver asks for what is not given. It also puts runs/ into .gitignore and writes a workflow if
    there is a folder .github.
    """
    if schema:
        from unwaver.project.schema import schema_text

        click.echo(schema_text(), nl=False)
        return
    from unwaver.engine.folder import write_whole
    from unwaver.models_file import FILE
    from unwaver.project.init import WORKFLOW, ignored, toml_text, workflow_text

    place = Path(FILE)
    if place.exists() and not force:
        hint = "unwaver check follows it; unwaver init --force writes it again"
        raise UsageError("this file already exists", file=place, hint=hint)
    choices = _choices(file, model, agree)
    text = toml_text(choices)
    write_whole(place, text)
    written = [str(place)]
    if (more := ignored(Path())) is not None:
        write_whole(Path(".gitignore"), more)
        written.append(".gitignore")
    if Path(".github").is_dir() and not WORKFLOW.exists():
        WORKFLOW.parent.mkdir(parents=True, exist_ok=True)
        write_whole(WORKFLOW, workflow_text(_key_env(choices)))
        written.append(str(WORKFLOW))
    click.echo(f"written: {', '.join(written)}")
    click.echo("Next: unwaver check --accept   asks the model and makes its answers the baseline")
    click.echo("then: unwaver check            after each change, reports what broke and decides")


def _key_env(choices: Choices) -> str | None:
    from unwaver.named_models import pieces

    if choices.model is None or not choices.model.startswith(("openai/", "azure/")):
        return None
    return pieces(choices.model)[1].get("key_env", "OPENAI_API_KEY")


def _choices(file: Path | None, model: str | None, agree: str | None) -> Choices:
    from unwaver.project.init import Choices, look_at

    asks = sys.stdin.isatty() and sys.stdout.isatty()
    if file is None:
        file = Path(_asked("File with your questions, or a log", _candidate(), asks, "--from FILE"))
    found = look_at(file)
    if found.is_log:
        return Choices(found)
    if model is None:
        model = _asked("Model (openai/NAME, hf/PATH, …)", None, asks, "--model openai/NAME")
        if asks and model.startswith("openai/") and "base_url" not in model:
            url = click.prompt("Address of the service (empty: OpenAI)", default="", show_default=False)
            model += f",base_url={url}" if url else ""
            key = click.prompt("Environment variable with the key", default="OPENAI_API_KEY")
            model += f",key_env={key}" if key != "OPENAI_API_KEY" else ""
    if found.is_questions and agree is None and asks:
        judged = click.confirm("Let the model judge whether two answers mean the same?", default=True)
        agree = None if judged else "normalised"
    return Choices(found, model, agree)


def _asked(question: str, default: str | None, asks: bool, option: str) -> str:
    if not asks:
        raise UsageError(f"{option} is missing", hint="unwaver init --from questions.csv --model openai/NAME")
    return str(click.prompt(question, default=default))


def _candidate() -> str | None:
    """The only table in this folder."""
    found = [path.name for path in Path().iterdir() if path.suffix in (".csv", ".jsonl", ".tsv", ".xlsx")]
    return found[0] if len(found) == 1 else None
