"""Servers of writers, certifiers, agreements and scorers, looked at before the model under test is asked: that one
is not there would else be found when most of the money is spent.

Nothing is asked that could cost: GET /models, without a key. Whatever a server says to that, it is there.
"""

from __future__ import annotations

import json
import re
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from urllib.parse import urlsplit

from unwaver.asking.consult import written
from unwaver.asking.panel import Respondent
from unwaver.engine.prepare import Prepared
from unwaver.engine.stored_answers import is_complete, stored
from unwaver.errors import ModelError
from unwaver.named_models import renamed
from unwaver.types import Model

TIMEOUT = 5.0  # seconds
PAUSE = 0.5  # before the second and last look
_SERVED = re.compile(r"openai:(?P<address>\S+) (?P<name>.+)", re.DOTALL)
_OWN = ("localhost", "127.0.0.1", "::1")
_ABSENT = (ConnectionRefusedError, socket.gaierror)


def reach(prepared: Prepared) -> None:
    """Raise where the server of a helper is not there; say if it does not list the model. Nothing is looked at
    where the models under test have all their answers: what is stored needs no server."""
    with stored(prepared) as store:
        tested = prepared.panel.tested
        if store is not None and tested and is_complete(prepared, store, tested):
            return
    looked_at: dict[str, list[str] | None] = {}
    for option, model in _helpers(prepared):
        served = _SERVED.fullmatch(model.identity)
        if served is None:
            continue
        address, name = served["address"], served["name"]
        if address not in looked_at:
            looked_at[address] = _models_of(address, option)
        known = looked_at[address]
        if known and name not in known:
            listed = ", ".join(known[:8]) + (" …" if len(known) > 8 else "")
            prepared.console.say(f"{address} does not list the model {name}; it lists {listed}")


def _helpers(prepared: Prepared) -> Iterator[tuple[str, Model]]:
    """Everyone but the models under test, with the text before an option of theirs."""
    asked: list[Respondent] = [*prepared.panel.certifiers, *([prepared.writer] if prepared.writer else [])]
    yield from ((respondent.option, respondent.model) for respondent in asked)
    for (role, name), model in prepared.opened.items():
        yield f"{written(role, name)}openai/{model.name},", model


def _models_of(address: str, option: str) -> list[str] | None:
    """The names that a server lists; None if it does not say. Raises where nobody is there."""
    request = urllib.request.Request(f"{address}/models", headers={"Accept": "application/json"})
    proxies: dict[str, str] | None = {} if urlsplit(address).hostname in _OWN else None
    opener = urllib.request.build_opener(urllib.request.ProxyHandler(proxies))
    for last in (False, True):
        try:
            with opener.open(request, timeout=TIMEOUT) as reply:
                return _names(reply.read(1 << 20))
        except urllib.error.HTTPError as e:
            e.close()
            return None
        except urllib.error.URLError as e:
            if not isinstance(e.reason, _ABSENT):
                return None  # slow, or a certificate: asking it will tell
            if last:
                error = ModelError(
                    f"{address} cannot be reached: {e.reason.strerror or e.reason}",
                    hint="start the server, or name another: --model-arg base_url=http://HOST/v1",
                )
                raise renamed(error, option) from None
            time.sleep(PAUSE)
        except (OSError, ValueError):  # it is there, and speaks in another way
            return None
    return None


def _names(body: bytes) -> list[str] | None:
    try:
        data = json.loads(body)["data"]
        return [str(entry["id"]) for entry in data]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
