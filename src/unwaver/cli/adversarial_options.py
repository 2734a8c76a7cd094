"""Options of `unwaver train` for adversarial samples."""

from __future__ import annotations

from collections.abc import Sequence

from unwaver.cli.sections import option, section

ADVERSARIAL = section(
    "Adversarial training",
    option(
        "--adversarial",
        metavar="NAME",
        help="Add samples with words substituted: bae or textfooler (attacks on --victim), synonym or masked-lm "
        "(random words).",
    ),
    option("--samples", type=int, default=5, show_default=True, metavar="N", help="Samples per item."),
    option(
        "--attack",
        multiple=True,
        metavar="[TASK=]FIELD,…",
        help="Text fields to attack, or all. Repeatable. [default: the recipe's]",
    ),
    option(
        "--victim",
        metavar="MODEL",
        help="Model to attack: a classifier of the task; {seed} and {task} are replaced by their values.",
    ),
    option("--masked-lm", metavar="MODEL", help="Masked language model that bae and masked-lm take words from."),
    option("--encoder", metavar="MODEL", help="Encoder that measures similarity: folder or package/NAME."),
    option(
        "--bar", type=float, default=0.8, show_default=True, metavar="X", help="Minimum similarity of a sample."
    ),
    option(
        "--candidates",
        type=int,
        default=50,
        show_default=True,
        metavar="N",
        help="Substitutes tried per word, for bae and textfooler.",
    ),
    option(
        "--pos",
        metavar="keep|any",
        default="keep",
        show_default=True,
        help="Keep the part of speech (English; needs spaCy), or not.",
    ),
    option("--fooling-only", is_flag=True, help="Keep only samples that change the victim's answer."),
)


def attacked_fields(values: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """("premise,hypothesis", "mrpc=all") -> {"*": ("premise", "hypothesis"), "mrpc": ("all",)}."""
    from unwaver.errors import UsageError
    from unwaver.train.setup import ALL

    found: dict[str, tuple[str, ...]] = {}
    for value in values:
        task, equals, names = value.rpartition("=")
        fields = tuple(name.strip() for name in names.split(",") if name.strip())
        if not fields or (equals and not task):
            hint = "--attack sentence1,sentence2 or --attack mrpc=all"
            raise UsageError(f"--attack {value!r} names no field", hint=hint)
        key = task or ALL
        found[key] = (*found.get(key, ()), *fields)
    return found
