"""The nouns. Everything else in unwaver is a function from some of these to others.

    suite or file -> Group(Item, …) -> Request -> Model -> Answer -> table -> Metric -> Score

This file imports nothing of unwaver's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

import msgspec

Role = Literal["original", "variant", "conclusion", "judge", "test"]  # test: of a full test set, in no bucket
Expect = Literal["same", "different", "implied", "bucket"]
Speaker = Literal["system", "user", "assistant", "tool"]
AnyNoun = TypeVar("AnyNoun")


class Noun(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What there may be millions of: made in a tenth of the time that a dataclass takes, and the garbage collector
    need not look at it, as it holds nothing but texts, numbers, and tuples and mappings of them."""


def replace(noun: AnyNoun, /, **changes: Any) -> AnyNoun:
    """A copy with other values, of a noun or a dataclass: what copy.replace does from Python 3.13 on."""
    if isinstance(noun, msgspec.Struct):
        return msgspec.structs.replace(noun, **changes)
    return dataclasses.replace(noun, **changes)  # type: ignore[type-var]


class Message(Noun, frozen=True):
    """One message of a conversation. In its text, `{answer of ITEM}` stands for the model's own answer to the item
    ITEM of the same group; nothing else is read as a template."""

    role: Speaker
    text: str
    tool_calls: str = ""  # calls of an assistant, as JSON: a list in OpenAI's form
    call: str = ""  # the id of the call that a tool message answers


class Item(Noun, frozen=True):
    """One question as a model sees it.

    `fields` are the texts by name; `template` names how they become segments (for classifiers) and a
    prompt (for language models), the task's own by default. `accepted` is a set: "not entailment"
    accepts two labels; empty means that the right answer is not known.

    A variant may have to be certified: by items of the role judge that are `about` it, whose accepted answer
    (with a probability of `at_least`) says that it is one; or by someone who has looked at it (`certified`).
    `judge` is the model that answers, "self" for the one under test.

    An item with `messages` is a conversation, sent as it is, without a template; its `fields` are the texts of the
    messages (see unwaver.groups.conversations, which makes such items).
    """

    id: str
    task: str
    role: Role
    fields: Mapping[str, str]
    choices: tuple[str, ...] = ()  # none = free text
    accepted: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    template: str = ""
    judge: str = ""
    about: str = ""
    at_least: float = 0.0
    certified: bool | None = None
    certified_by: str = ""  # "writer": the model that wrote it said so when the groups were made
    messages: tuple[Message, ...] = ()
    tools: str = ""  # the tools that are offered, as JSON: a list in OpenAI's form
    response_format: str = ""  # the form that is asked of the answer, as JSON, in OpenAI's form


class Group(Noun, frozen=True):
    """Items that must stand in one relation: original first, or premises first and the conclusion last.

    `cluster` names the connected component of groups that share an original: the unit that intervals
    resample. "" means that the group stands alone. `units` names the original items where groups are made of
    several of them and share them in chains: intervals then resample these (see unwaver.stats.units). `keep` is
    how many certified variants count, the first of them; None is all. `epsilon` is an upper limit of the share of
    wrong variants among groups made like this one. `repeats` is how often its originals are asked again, for the
    noise of sampling: such answers are compared with one another and with no variant.
    """

    id: str
    suite: str
    task: str
    kind: str
    expect: Expect
    items: tuple[Item, ...]
    cluster: str = ""
    tag: str = ""
    keep: int | None = None
    epsilon: float | None = None
    units: tuple[str, ...] = ()
    repeats: int = 0

    def times(self, item: Item, replicates: int) -> int:
        """How often an item is asked, where all are asked `replicates` times."""
        if item.role == "judge":
            return 1
        return max(replicates, 1 + self.repeats) if item.role == "original" else replicates


class Request(Noun, frozen=True):
    """An item put to a model. `Model.reads` says which of the texts are part of the question."""

    task: str
    segments: tuple[str, ...]  # what a classifier reads
    prompt: str  # what a language model reads
    choices: tuple[str, ...]  # the labels
    words: tuple[str, ...]  # what a language model writes for each label, aligned with choices
    item: str = ""
    replicate: int = 0
    template: str = ""  # name and version of the prompt template
    limit: int | None = None  # the most tokens of the answer, in place of the model's own limit
    schema: str = ""  # JSON schema of the answer, where a service has structured output
    temperature: float | None = None  # in place of the model's own
    accepted: tuple[str, ...] = ()  # the right answers, only for a model that reads them: fake/oracle
    beams: int = 0  # the answer is the text at place `replicate` among the most likely of this many beams
    messages: tuple[Message, ...] = ()  # a conversation; `prompt` has the same as plain text
    tools: str = ""
    response_format: str = ""


class Beside(Noun, frozen=True):
    """What a service sends beside the text of an answer, as it came."""

    reasoning: str = ""  # thoughts before the answer
    refusal: str = ""
    tool_calls: str = ""  # as JSON
    cached_tokens: int | None = None  # of the prompt tokens
    reasoning_tokens: int | None = None  # of the completion tokens
    served: str = ""  # the name of the model that answered
    fingerprint: str = ""  # of the system that answered
    scoring: str = ""  # how probabilities came from the first token, as JSON: see unwaver.models.first_token


class Answer(Noun, frozen=True):
    """What came back, raw. The label is read from it later, in the table, so that a new way of reading asks
    nothing: from `text` if there is one, else the choice with the greatest log-probability."""

    text: str | None = None
    logprobs: tuple[float, ...] = ()  # summed log-probability of each choice
    tokens: tuple[int, ...] = ()  # tokens of each choice, for length normalisation
    usage: tuple[int, int] | None = None  # prompt tokens, completion tokens
    finish: str = ""
    truncated: bool = False
    error: str | None = None
    beside: Beside | None = None


Batch = list[tuple[int, Answer]]


@runtime_checkable
class Model(Protocol):
    """The one seam to the outside.

    `identity` and `settings` (only what can change an answer) go into the answer key, with the request
    fields named in `reads`. `answer` yields batches of (index into requests, Answer) in any order: a batch
    is what is committed to the store at once. An Answer with `error` is a call that failed for good.

    `deterministic` is a guarantee: the same request always gets the same answer. Such a model is asked once for
    all replicates. A server at temperature 0 does not guarantee it.

    What a model may have beyond this minimum is listed in unwaver.models.parts.
    """

    @property
    def name(self) -> str: ...
    @property
    def identity(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def settings(self) -> Mapping[str, object]: ...
    @property
    def reads(self) -> tuple[str, ...]: ...
    @property
    def deterministic(self) -> bool: ...

    def answer(self, requests: Sequence[Request]) -> Iterator[Batch]: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Score:
    """One line of a report. Values are fractions, None where undefined.

    counted + not_applicable + failed + refused + cut + not_asked = groups, all of them numbers of groups;
    `unreadable`, `cut_read` and `truncated` are the groups with at least one such answer; of the unreadable ones,
    `empty` hold an answer without text, `tool_call` one that is a call of a tool.
    """

    suite: str
    task: str
    kind: str
    metric: str
    value: float | None
    low: float | None
    high: float | None
    groups: int
    counted: int
    not_applicable: int
    unreadable: int
    failed: int
    not_asked: int
    truncated: int
    accuracy: float | None
    model: str
    method: str
    given: str | None = None
    better: Literal["low", "high", ""] = ""
    interval: str | None = None  # exact, t, bootstrap, item bootstrap, sequence
    clusters: int = 0  # independent units: clusters, or original items
    unreadable_as: Literal["violation", "skipped"] = "violation"
    flags: tuple[str, ...] = field(default=())
    # if a share epsilon of the groups holds a wrong variant, the value on the right ones lies between the bounds
    bound_low: float | None = None
    bound_high: float | None = None
    epsilon: float | None = None
    not_needed: int = 0  # of those not asked: the verdict was certain without them
    refused: int = 0  # the service refused an answer
    cut: int = 0  # an answer ended at the token limit before it could be read
    cut_read: int = 0  # an answer ended at the token limit and was read all the same
    answered_wrong: int = 0  # of those that do not apply to a fooling rate: the original was answered wrong
    too_few: int = 0  # … : it has too few certified variants
    base_accuracy: float | None = None  # on the whole split that the set was made from, and its macro-averaged F1
    base_f1: float | None = None
    empty: int = 0
    tool_call: int = 0
    partial: int = 0  # counted, without an answer whose call failed

    @property
    def missing(self) -> int:
        """Groups that could not be scored because an answer is missing."""
        return self.failed + self.refused + self.cut + self.not_asked - self.not_needed


@dataclass(frozen=True)
class Figure:
    """A picture of numbers: a Vega-Lite specification with its data inside (see unwaver.metrics.charts).

    A metric's file may have `figures(blocks, scores) -> Iterator[Figure]`. Figures of one `family` stand together
    in a report; `says` is what a reader is to see, and `metric` the number whose method explains it.
    """

    family: str
    title: str
    says: str
    metric: str
    spec: Mapping[str, Any]


@dataclass(frozen=True)
class Suite:
    """Published sets, or a user's own file, as groups: `cases` are the kinds of each task, in order.

    `groups(task, kind)` yields in file order and raises DataError naming the file that is missing.
    `examples(task)` yields labelled items that may serve as solved examples in a prompt. `notes(task, kind)`
    says what a reader of the result must know about how the groups were made. `tasks` are those that are
    not built in.
    """

    name: str
    cases: Mapping[str, tuple[str, ...]]
    groups: Callable[[str, str], Iterator[Group]]
    examples: Callable[[str], Iterator[Item]]
    notes: Callable[[str, str], list[str]]
    tasks: Mapping[str, Any] = field(default_factory=dict)
    base: Callable[[str, str], tuple[str, Iterator[Item]]] | None = None  # the split that a set was made from
    version: str = ""  # of what it asks, with a hash: runs of two versions are not compared
    balanced: bool = False  # --sample draws evenly over the tags of groups
