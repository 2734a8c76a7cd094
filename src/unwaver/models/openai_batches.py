"""Batches of an OpenAI-compatible server: what a request is in one, and the end points for files and batches."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from unwaver.errors import ModelError, UsageError
from unwaver.models.connections import Broken, Closed, Connections, Late, Reply, TooLong, Unreachable
from unwaver.models.dialect import spoken
from unwaver.models.openai_address import Address
from unwaver.models.openai_replies import Fault, error_message, printable
from unwaver.types import Answer, Request

if TYPE_CHECKING:
    from unwaver.models.openai import OpenAIModel

LONGEST = 1_000_000_000  # bytes of a file of results
TRIES = 5  # of a request that changes nothing
PAGE = 100  # batches in one list


class Uncertain(Exception):
    """Nobody knows whether the server has done what it was asked."""


class OpenAIBatch:
    """One model of one server, asked in batches."""

    def __init__(self, model: OpenAIModel, address: Address, headers: Mapping[str, str], timeout: float):
        self._model, self._address, self._timeout = model, address, timeout
        self._headers = headers

    @property
    def place(self) -> tuple[str, str]:
        return self._model.dialect.place

    def body(self, request: Request) -> dict[str, object]:
        """As it would be sent alone, in the way that the server is known to take."""
        return spoken(self._model.batch_body(request), self._model.dialect.switches)

    def answer(self, request: Request, reply: Mapping[str, Any]) -> Answer:
        try:
            return self._model.batch_answer(request, reply)
        except Fault as fault:
            more = f" ({fault.hint})" if fault.hint else ""
            return Answer(error=f"{fault}{more}")

    # --- end points ---------------------------------------------------------------------------------------------

    def upload(self, lines: str) -> str:
        """The id of a file with these requests. A second try leaves a file that nobody uses, no more."""
        boundary = uuid4().hex
        part = f'--{boundary}\r\nContent-Disposition: form-data; name="'
        content = (
            f'{part}purpose"\r\n\r\nbatch\r\n'
            f'{part}file"; filename="unwaver.jsonl"\r\nContent-Type: application/jsonl\r\n\r\n{lines}\r\n'
            f"--{boundary}--\r\n"
        )
        kind = f"multipart/form-data; boundary={boundary}"
        return self._id(self._patiently("POST", "/files", content.encode(), kind))

    def submit(self, file: str, metadata: Mapping[str, str]) -> str:
        """The id of a new batch. Uncertain: it may be there; `find` tells."""
        asked = {"input_file_id": file, "endpoint": "/v1/chat/completions", "completion_window": "24h"}
        content = json.dumps({**asked, "metadata": dict(metadata)}).encode()
        try:
            return self._id(self._once("POST", "/batches", content))
        except (Late, Broken, TooLong) as e:
            raise Uncertain(type(e).__name__) from None

    def find(self, mark: str) -> str | None:
        """The id of the batch whose metadata has this mark, if there is one."""
        for batch in self._all():
            metadata = batch.get("metadata")
            if isinstance(metadata, dict) and metadata.get("unwaver") == mark:
                return str(batch["id"])
        return None

    def state(self, batch: str) -> dict[str, Any]:
        return self._json(self._patiently("GET", f"/batches/{batch}"))

    def content(self, file: str) -> str:
        return self._patiently("GET", f"/files/{file}/content").body.decode("utf-8", "replace")

    def _all(self) -> Iterator[dict[str, Any]]:
        after = ""
        while True:
            page = self._json(self._patiently("GET", f"/batches?limit={PAGE}{after}"))
            listed = page.get("data")
            batches = [b for b in listed if isinstance(b, dict)] if isinstance(listed, list) else []
            yield from batches
            if not page.get("has_more") or not batches:
                return
            after = f"&after={batches[-1].get('id')}"

    # --- one call -----------------------------------------------------------------------------------------------

    def _patiently(self, method: str, path: str, content: bytes = b"", kind: str = "") -> Reply:
        """Of what can be done twice without harm."""
        for left in reversed(range(TRIES)):
            try:
                return self._once(method, path, content, kind)
            except (Late, Broken, Unreachable) as e:
                if not left:
                    raise self._trouble(f"cannot be reached: {printable(str(e)) or type(e).__name__}") from None
            except _Busy as e:
                if not left:
                    raise self._trouble(str(e)) from None
            time.sleep(min(2.0 ** (TRIES - left) / 4, 10))
        raise AssertionError

    def _once(self, method: str, path: str, content: bytes = b"", kind: str = "application/json") -> Reply:
        if self._address.azure:
            raise UsageError("--batch cannot be used with Azure", hint="--batch-out FILE writes the requests")
        sent = {**self._headers, "Content-Type": kind or "application/json", "Accept-Encoding": "identity"}
        connections = Connections(self._address.url, sent, keep=0, longest=LONGEST)
        base, query, rest = path.partition("?")
        target = self._address.target(base)
        if query:
            target += ("&" if "?" in target else "?") + rest
        try:
            reply = connections.post(target, content, time.monotonic() + self._timeout, method)
        except Closed:
            raise Broken("closed") from None
        finally:
            connections.close()
        if reply.trouble is not None:
            raise reply.trouble
        if not reply.is_success:
            said = f"answered {reply.status} to {path.partition('?')[0]}: {_says(reply.body)}"
            if reply.status == 429 or reply.status >= 500:
                raise _Busy(said)
            raise self._trouble(said)
        return reply

    def _trouble(self, what: str) -> ModelError:
        hint = "does the server have /files and /batches? --batch-out FILE writes the requests instead"
        return ModelError(f"{self._address.base} {what}", hint=hint)

    def _json(self, reply: Reply) -> dict[str, Any]:
        try:
            found = json.loads(reply.body)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise self._trouble(f"answered what is not JSON: {_says(reply.body)}")
        return found

    def _id(self, reply: Reply) -> str:
        found = self._json(reply).get("id")
        if not isinstance(found, str) or not found or not all(c.isalnum() or c in "-_." for c in found):
            raise self._trouble("answered without an id")
        return found


class _Busy(Exception):
    pass


def _says(body: bytes) -> str:
    try:
        return printable(error_message(json.loads(body)) or body.decode("utf-8", "replace")[:2000])
    except (ValueError, RecursionError):
        return printable(body.decode("utf-8", "replace")[:2000])
