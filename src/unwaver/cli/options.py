"""Options that several verbs have, declared once. What a verb needs alone is declared with it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from unwaver.cli import completion
from unwaver.cli.sections import option, section, together

PATH = click.Path(path_type=Path)

DATA_DIR = option(
    "--data-dir", type=click.Path(), metavar="DIR", help="Folder with becel/, mnli/, … [default: $UNWAVER_DATA]"
)
DEVICE = option("--device", help="cpu, cuda, cuda:1 or mps. [default: the fastest available]")
ENGINE = section(
    "Many machines",
    option(
        "--engine",
        type=click.Choice(["local", "ray"]),
        default="local",
        show_default=True,
        help="This process, or replicas on Ray: the cluster at $RAY_ADDRESS, or one that is started here.",
    ),
    option("--replicas", type=int, metavar="N", help="With --engine ray: replicas of each model. [default: 1]"),
    option(
        "--gpus-per-replica",
        type=float,
        metavar="X",
        help="With --engine ray; 0.5 puts two on a GPU. [default: 1 if the cluster has GPUs]",
    ),
    option(
        "--cpus-per-replica",
        type=float,
        metavar="X",
        help="With --engine ray. [default: this machine's cores divided among replicas; 1 on a cluster]",
    ),
)
SEED = option("--seed", type=int, default=0, show_default=True, metavar="N", help="Random seed.")
FORCE = option("--force", is_flag=True, help="Overwrite files that unwaver did not write.")
JSON = option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout and nothing else.")
FULL = option("--full", is_flag=True, help="Print every line: of many, only the leading ones are shown.")
WITHOUT_TEXTS = option(
    "--without-texts", is_flag=True, help="Write no question and no answer into the report, for private prompts."
)
STORE = option(
    "--store",
    type=click.Path(),
    metavar="FILE|URL",
    help="Answer store shared by several runs: a file, or postgresql://HOST/DATABASE.",
)
QUIET = option("-q", "--quiet", is_flag=True, help="Print no progress and no notes.")

MODELS = option(
    "--model",
    "models",
    multiple=True,
    metavar="PROVIDER/NAME",
    shell_complete=completion.models,
    help="Model to ask, with options (fake/random,seed=3), or @NAME from unwaver.toml. Repeatable.",
)
TASK = option(
    "--task",
    metavar="NAME",
    shell_complete=completion.tasks,
    help="Task of the items: a built-in task, or your own task file (.toml).",
)
LIMIT = option("--limit", type=int, metavar="N", help="Take the first N groups of each suite/task/kind.")
SAMPLE = option("--sample", type=int, metavar="N", help="Take N random groups of each suite/task/kind (--seed).")
ADDITIVE = option(
    "--additive",
    type=click.Choice(["disjoint", "all", "published"]),
    default="disjoint",
    show_default=True,
    help="Pairs of texts that additive groups join; published: all, as short as the evaluation set.",
)
ADDITIVE_CAP = option(
    "--additive-cap", type=int, metavar="N", help="With --additive all or published: join at most N pairs."
)
COMMON = option("--common", is_flag=True, help="Use only groups that both runs have.")
ALLOW_DIFFERENT = option("--allow-different", is_flag=True, help="Accept runs with different settings.")
LANG = option(
    "--lang",
    default="en",
    show_default=True,
    help="Language of the texts, for the negate, antonym, rules and surface_typo builders.",
)
MESSAGE = option(
    "--message",
    metavar="NAME",
    help="Message of a conversation that variants change: system, user, user_2 … [default: the last of the user]",
)
ANTONYMS = option("--antonyms", type=click.Path(), metavar="FILE", help="Antonyms to use. [default: WordNet]")

UNREADABLE = option(
    "--unreadable",
    type=click.Choice(["violate", "skip"]),
    default=None,
    help="Groups with an answer without a label: count them as broken, or skip them. [default: as in the run]",
)
UNREADABLE_OUT = option(
    "--unreadable-out",
    type=PATH,
    metavar="FILE",
    help="Write the texts of unreadable answers to this file (JSONL).",
)
CUT = option(
    "--cut",
    type=click.Choice(["exclude", "keep"]),
    default=None,
    help="Groups with an answer that hit the token limit: leave them out, or count them. [default: as in the run]",
)

YES = option("--yes", is_flag=True, help="Agree to more than 1,000 requests to a paid service (--variants auto).")
MAX_CALLS = option("--max-calls", type=int, metavar="N", help="Stop before making more than N requests.")
MAX_COST = option("--max-cost", type=float, metavar="X", help="Stop before spending more than this; needs prices.")
PRICE_IN = option(
    "--price-in", type=float, metavar="X", help="Price of a million prompt tokens. [default: genai-prices]"
)
PRICE_OUT = option(
    "--price-out", type=float, metavar="X", help="Price of a million answer tokens. [default: genai-prices]"
)
PILOT = option(
    "--pilot",
    type=int,
    metavar="N",
    help="Ask N groups first, more if costs vary much, and say what all will cost. With --dry-run, ask no others.",
)

REVIEW = option(
    "--review",
    type=click.Path(),
    multiple=True,
    metavar="FILE",
    help="Review sheet that a person has filled in, a folder of them, or a job of people. Repeatable.",
)

DOMAIN = option(
    "--domain",
    multiple=True,
    metavar="SET=in|out,…",
    help="Fooling rates: sets in and out of the domain a model was trained on, averaged separately.",
)

# how variants are written, certified and kept: run and build
variant_options = together(
    section(
        "Variants",
        option(
            "--writer",
            metavar="WRITER",
            shell_complete=completion.models,
            help="Who writes paraphrases: rules, bank/FILE, or a model as for --model (hf/PATH, openai/NAME).",
        ),
        option(
            "--writer-arg",
            "writer_args",
            multiple=True,
            metavar="KEY=VALUE",
            help="Option of the writer. Repeatable.",
        ),
        option(
            "--writer-prompt", type=click.Path(), metavar="FILE", help="Your own prompt for a writer, with {text}."
        ),
        option(
            "--judge",
            "judges",
            multiple=True,
            metavar="CERTIFIER",
            shell_complete=partial(completion.names, "judges"),
            help="Test that a paraphrase must pass: entail=self, entail=hf/PATH, same=hf/PATH@0.8, "
            "distance=0.1:0.9, … Repeatable.",
        ),
        option(
            "--k",
            type=int,
            metavar="N",
            help="Keep N certified paraphrases per item. [default: 5 by a model, else all]",
        ),
        option("--tries", type=int, metavar="N", help="Ask the writer at most N times per item. [default: 2 × k]"),
        option("--encoder", type=click.Path(), metavar="MODEL", help="Encoder that measures embedding distance."),
        LANG,
        MESSAGE,
        ANTONYMS,
        REVIEW,
        option(
            "--epsilon",
            type=float,
            metavar="X",
            help="Assumed share of wrong variants if there is no review sheet.",
        ),
    )
)

SIGN = option(
    "--sign",
    "signs",
    multiple=True,
    metavar="SIGN",
    help="CALM: sign of a variant of the kind signal, with X for the indicator: '[X]', 'X |'. Repeatable. "
    "[default: ten signs]",
)
THETA = option(
    "--theta",
    type=float,
    multiple=True,
    metavar="X",
    help="CALM: report C_S@X, the share of items with a pass rate of X or more. Repeatable. [default: 0.9 to 0.5]",
)
SOURCE = option(
    "--source",
    type=click.Choice(["human", "automatic"]),
    default=None,
    help="ParaNLU: who wrote the paraphrases. [default: human]",
)
BANK = option("--bank", type=click.Path(), metavar="FILE", help="ParaNLU: file of automatic paraphrases.")
SHOTS_FROM = option(
    "--shots-from",
    multiple=True,
    metavar="SUITE[/TASK]",
    help="Take solved examples from these sets, the same number from each. Repeatable. [default: the task's own]",
)
TEST = option(
    "--test",
    multiple=True,
    metavar="[MODEL=]FILE",
    help="The same model's answers on the full test set, for corrected values. Repeatable, one per model.",
)

log_options = section(
    "Logs of other tools",
    option("--task", metavar="NAME", help="Treat all files as this one task, such as several prompts for it."),
    option("--bucket", metavar="FIELD", help="Field that says which answers belong together: doc.problem."),
    option("--bucket-regex", metavar="REGEX", help="Bucket within that field or the id: '^(.+)-p[0-9]+$'."),
    option("--bucket-file", type=PATH, metavar="FILE", help="Table of ids and their buckets."),
    option("--variant", metavar="FIELD", help="Field that names the wording."),
    option("--answer", metavar="FIELD", help="Field with the answer."),
    option("--gold", metavar="FIELD", help="Field with the correct answer."),
    option("--replicate", metavar="FIELD", help="Field that distinguishes repeats of one wording."),
    option("--filter", metavar="NAME", help="lm-eval: filter whose answers are used. [default: the first]"),
    option("--metric-key", metavar="NAME", help="Metric, scorer or column that says whether an answer is right."),
    option("--strict", is_flag=True, help="Leave out the whole group of a failed call, not only its answer."),
    TEST,
)

# how answers that are already there are read: score, compare and gate
answer_options = together(
    section(
        "How to read the answers",
        option(
            "--format",
            default="auto",
            show_default=True,
            metavar="NAME",
            shell_complete=partial(completion.names, "logs"),
            help="Format of the files: auto, run, table, lm-eval, inspect, promptfoo, helm, paranlu or becel.",
        ),
        UNREADABLE,
        CUT,
        REVIEW,
        option(
            "--agree",
            multiple=True,
            metavar="NAME",
            shell_complete=partial(completion.names, "agreements"),
            help="Free text: how to compare two answers. Repeatable.",
        ),
    ),
    log_options,
)
