"""What a server does not take, learned from what it says: status 400 or 422 with the name of a parameter.

    "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."   -> another name for the limit
    "'temperature' does not support 0 with this model"                            -> left out: answers are sampled
    "System role not supported"                                                   -> the user's message has it

Each switch is made once, for a server and a model: what is refused in spite of it is a failed call. Keys of
answers are made of what was asked for, so that they are the same before and after. The answer store keeps the
switches: nothing is tried again when a run goes on. unwaver.models.complaints reads what a server says.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, TypeVar

from unwaver.groups.conversations import without_system
from unwaver.models.complaints import (
    ECHO,
    LIMIT,
    LIMIT_NAMES,
    SCORES,
    SYSTEM,
    complaints,
    has_system,
    refused,
    room,
)
from unwaver.models.openai_replies import Fault

Reply = TypeVar("Reply")

ROOM = "room"  # for as many tokens as unwaver asks for by itself
LEAST = 16  # tokens of an answer that are worth asking for

# in the order in which they are tried where a message names several: the first changes an answer least
SWITCHES: Mapping[str, str] = {
    LIMIT: "max_tokens is sent as max_completion_tokens",
    SYSTEM: "the system prompt is sent at the beginning of the user message",
    "stop": "unwaver cuts texts at the stop strings",
    "seed": "the seed is not sent, and repeats of the run may differ",
    "top_p": "top_p is not sent",
    "temperature": "temperature is not sent, and answers are sampled at the server's default",
    ECHO: "probabilities of labels are those of the first token of a chat answer",
    SCORES: "labels are read from what the model writes",
    ROOM: "such requests are sent again with fewer; --model-arg max_tokens=N sets the limit",
}
_LEFT_OUT = {"temperature", "top_p", "seed", "stop"}
_NAMED = {
    SYSTEM: "the system role",
    ECHO: "choices to score at the end of a prompt",
    ROOM: "the default number of answer tokens",
}


class Dialect:
    """How requests are put to one model of one server. For any thread."""

    def __init__(self, server: str, model: str, *, own_limit: bool = False):
        """`own_limit`: nobody has asked for this limit of tokens; it may be lowered."""
        self.place = (server, model)
        self._own_limit = own_limit
        self._switches: frozenset[str] = frozenset()
        self._useless: frozenset[str] = frozenset()  # the server said the same again
        self._lock = threading.Lock()

    @property
    def switches(self) -> frozenset[str]:
        return self._switches

    def know(self, switches: Iterable[str]) -> None:
        with self._lock:
            self._switches |= frozenset(switches) & SWITCHES.keys()

    def put(self, body: Mapping[str, Any], post: Callable[[dict[str, Any]], Reply]) -> Reply:
        """The reply to a request, put in the way that the server takes; what helped is known from then on.

        Ends: whatever is sent instead lacks something that was sent before, or has a lower limit.
        """
        sent, learned = spoken(body, self._switches), set[str]()
        while True:
            try:
                reply = post(sent)
            except Fault as fault:
                switch, instead = self._instead(fault, sent)
                if instead == sent:
                    self._forget(fault, sent, learned)
                    raise
                sent = instead
                learned.add(switch)
            else:
                self.know(learned)
                return reply

    def _instead(self, fault: Fault, sent: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """What to send instead of what was refused, and the switch; the same where nothing helps."""
        said = complaints(fault.said) if fault.said else []
        if (fewer := room(said, sent)) is not None:
            name, tokens = fewer
            if self._own_limit and tokens >= LEAST:  # not for the next question, which may be shorter
                return ROOM, {**sent, name: tokens}
            fault.hint = f"the server has no room for {sent[name]} tokens: --model-arg {LIMIT}={tokens}"
            return "", sent
        switch = refused(said, sent, SWITCHES)
        return switch, sent if switch in self._useless else spoken(sent, {switch})

    def _forget(self, fault: Fault, sent: Mapping[str, Any], tried: Set[str]) -> None:
        """A switch is not tried again if the server complains of the same in spite of it."""
        if tried and fault.said:
            before = {**dict.fromkeys(tried - {SYSTEM}, 0), **sent}
            with self._lock:
                self._useless |= tried & {refused(complaints(fault.said), before, SWITCHES)}


def spoken(body: Mapping[str, Any], switches: Set[str]) -> dict[str, Any]:
    """The body of a request after these switches."""
    said = dict(body)
    if LIMIT in switches and LIMIT in said and "messages" in said:
        limit = said.pop(LIMIT)
        said.setdefault(LIMIT_NAMES[1], limit)
    for name in _LEFT_OUT & switches:
        said.pop(name, None)
    if SYSTEM in switches and has_system(said):
        said["messages"] = without_system(said["messages"])
    return said


def told(place: Sequence[str], switch: str) -> str:
    """ "http://…/v1 does not take temperature for m: temperature is not sent, …"."""
    return f"{place[0]} does not take {_NAMED.get(switch, switch)} for {place[1]}: {SWITCHES[switch]}"
