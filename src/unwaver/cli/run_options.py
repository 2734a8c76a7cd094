"""What `unwaver run` can be told, section by section, as its help shows it."""

from __future__ import annotations

from functools import partial

import click

from unwaver.cli import completion
from unwaver.cli.options import (
    ADDITIVE,
    ADDITIVE_CAP,
    BANK,
    CUT,
    DATA_DIR,
    DEVICE,
    DOMAIN,
    FULL,
    JSON,
    LIMIT,
    MAX_CALLS,
    MAX_COST,
    MODELS,
    PATH,
    PILOT,
    PRICE_IN,
    PRICE_OUT,
    QUIET,
    SAMPLE,
    SEED,
    SHOTS_FROM,
    SIGN,
    SOURCE,
    STORE,
    TASK,
    THETA,
    UNREADABLE,
    UNREADABLE_OUT,
    WITHOUT_TEXTS,
    YES,
)
from unwaver.cli.sections import option, section

WHAT_TO_ASK = section(
    "What to ask",
    DATA_DIR,
    option("--fetch", is_flag=True, help="Download missing data files from their public source."),
    LIMIT,
    SAMPLE,
    SEED,
    ADDITIVE,
    ADDITIVE_CAP,
    option(
        "--base-accuracy",
        is_flag=True,
        help="Also ask the whole split that a set was made from, for its accuracy.",
    ),
    SOURCE,
    BANK,
    SIGN,
    option(
        "--min-score",
        type=float,
        metavar="X",
        help="TruthfulQA: minimum score of a paraphrase; 0 is the unfiltered set. [default: 0.8]",
    ),
    option(
        "--core-seed",
        type=int,
        metavar="N",
        help="Core: other facts and wordings, drawn with this seed. [default: 0]",
    ),
    option(
        "--table",
        "tables",
        multiple=True,
        type=click.Path(),
        metavar="FILE",
        help="Core: a table of facts of your own (TOML), added to those of the suite. Repeatable.",
    ),
    option("--corrected", is_flag=True, help="ParaNLU: also ask the full test set, and report corrected values."),
    option("--from", "from_file", type=PATH, metavar="FILE", help="Repeat the run described by a run.json."),
)
WHOM_TO_ASK = section(
    "Whom to ask",
    MODELS,
    option(
        "--model-arg", "model_args", multiple=True, metavar="KEY=VALUE", help="Option of all models. Repeatable."
    ),
    option(
        "--map",
        "label_map",
        multiple=True,
        metavar="MODEL=TASK",
        help="Translate a classifier's label into a label of the task. Repeatable.",
    ),
    DEVICE,
)
HOW_TO_ASK = section(
    "How to ask",
    option(
        "--shots", type=int, default=0, metavar="N", help="Put N solved examples into each prompt. [default: 0]"
    ),
    SHOTS_FROM,
    option(
        "--template", type=click.Path(), metavar="FILE", help="Your own prompt template: text, or .toml by task."
    ),
    option(
        "--form",
        metavar="NAME",
        help="Layout of the prompts: plain, calm, t5 or target-only. [default: as the model was trained]",
    ),
    option("--system", metavar="TEXT", help="System message for chat models, for items without one."),
    option("--system-file", type=click.Path(), metavar="FILE", help="The same, from a text file."),
    option(
        "--tools",
        type=click.Path(),
        metavar="FILE",
        help="JSON list of tools to offer, in OpenAI's form. An answer may then be a call: --agree tool.",
    ),
    option(
        "--response-format",
        type=click.Path(),
        metavar="FILE",
        help="JSON schema of the answers, or OpenAI's response_format: --agree json.",
    ),
    option(
        "--method",
        metavar="NAME",
        help="Language models: logprob (probabilities of labels) or generate. [default: the model's own]",
    ),
    option("--normalise", is_flag=True, help="Divide a choice's log-probability by its number of tokens."),
    option(
        "--decode",
        multiple=True,
        metavar="NAME",
        shell_complete=partial(completion.names, "decodings"),
        help="Decoding: greedy, nucleus, sample or beam. Repeatable; each one is run.",
    ),
    option("--replicates", type=int, default=1, metavar="N", help="Ask each item N times. [default: 1]"),
    UNREADABLE.but(
        default="violate",
        show_default=True,
        help="Groups with an answer without a label: count them as broken, or skip them.",
    ),
    CUT.but(
        default="exclude",
        show_default=True,
        help="Groups with an answer that hit the token limit: leave them out, or count them.",
    ),
    THETA,
)
YOUR_OWN_FILE = section(
    "Your own file",
    TASK,
    option("--kind", metavar="RELATION", help="Relation within its groups. [default: semantic]"),
    option("--label", "labels", multiple=True, metavar="TEXT", help="One possible answer. Repeatable."),
    option(
        "--column",
        "columns",
        multiple=True,
        metavar="ROLE=NAME",
        help="Name of the column with the original, the variant, gold, … Repeatable.",
    ),
)
VARIANTS = section(
    "Variants",
    option(
        "--variants",
        multiple=True,
        metavar="A,B",
        shell_complete=partial(completion.names, "variants"),
        help="Make these variants of the items of your own file; `unwaver list variants` shows the names. "
        "[default for a file of questions: auto]",
    ),
    DOMAIN,
)
FREE_TEXT = section(
    "Free text",
    option(
        "--agree",
        multiple=True,
        metavar="NAME[=MODEL]",
        shell_complete=partial(completion.names, "agreements"),
        help="How to compare two answers. Repeatable; the first one decides which groups are broken (tau). "
        "[default: normalised, exact]",
    ),
    option(
        "--compare-questions",
        is_flag=True,
        help="Let agreements that ask a model compare the wordings of each question, too: Cons_judge_questions.",
    ),
    option(
        "--scorer",
        "scorers",
        multiple=True,
        metavar="NAME=MODEL",
        shell_complete=partial(completion.names, "scorers"),
        help="Model that decides whether an answer is right: bleurt=PATH, judge=openai/NAME. Repeatable.",
    ),
    option(
        "--read",
        default="text",
        show_default=True,
        metavar="NAME",
        shell_complete=partial(completion.names, "readers"),
        help="Part of the text that is the answer: number, last_line, json, …",
    ),
)
MONEY_AND_TIME = section(
    "Money and time",
    option("--dry-run", is_flag=True, help="Show what would be asked; with --out, also write groups.jsonl."),
    option(
        "--until",
        multiple=True,
        metavar="BAR",
        help="Stop as soon as it is certain whether this bar is met: 'tau<=0.10'.",
    ),
    option(
        "--alpha", type=float, default=0.05, show_default=True, metavar="X", help="Error probability of --until."
    ),
    option(
        "--batch",
        is_flag=True,
        help="Submit the requests as batches of the server. The same command collects the answers later.",
    ),
    option(
        "--batch-out",
        type=click.Path(),
        metavar="FILE",
        help="Write the missing requests as a batch for OpenAI; FILE.anthropic.jsonl: for Anthropic.",
    ),
    option(
        "--batch-in",
        multiple=True,
        type=click.Path(),
        metavar="FILE",
        help="Read the results of such a batch. Repeatable.",
    ),
    PILOT,
    MAX_CALLS,
    MAX_COST,
    PRICE_IN,
    PRICE_OUT,
    YES,
)
OUTPUT = section(
    "Output",
    option("--out", type=click.Path(), metavar="DIR", help="Run folder. [default: runs/<suites>-<hash>]"),
    STORE,
    option("--no-report", is_flag=True, help="Do not write report.html. --json implies it."),
    WITHOUT_TEXTS,
    UNREADABLE_OUT,
    FULL,
    JSON.but(help="Print scores.json on stdout and nothing else."),
    QUIET,
)
