"""What to do about a refusal: by its status, and where that says little, by what the server says.

404                                        -> does the server know the model?
400 "Invalid model name … model=m"         -> the same: not every server has a status for it
422 "Unexpected fields: {'top_k'}"         -> take top_k out of extra
400 "temperature must be at most 1"        -> another value, or none
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

_REFUSED = (400, 422)
_SETTINGS = ("temperature", "top_p", "max_tokens")  # those that `none` leaves to the server
_NO_MODEL = r"model\b.{0,40}\b(not found|not exist|unknown|not available)|\b(invalid|unknown|no such) model\b"


@dataclass(frozen=True)
class Hints:
    model: str
    key_env: str
    has_key: bool
    azure: bool
    extra: Collection[str]

    def of(self, status: int, says: str) -> str | None:
        if status in (401, 403):
            return self._key()
        if status in (404, 405):
            return self._model()
        return self._refused(says) if status in _REFUSED else None

    def failed(self) -> str:
        """About 500 and above."""
        return "the server failed: check its log, then run the same command again to continue"

    def _key(self) -> str:
        if self.has_key:
            return f"is the key in the environment variable {self.key_env} right?"
        return f"put a key into the environment variable {self.key_env}"

    def _model(self) -> str:
        if self.azure:
            return f"is there a deployment {self.model}? --model-arg base_url=https://RESOURCE.openai.azure.com"
        return f"does the server know the model {self.model}? base_url usually ends in /v1"

    def _refused(self, says: str) -> str:
        for name in self.extra:
            if _names(says, name):
                return f"change {name} in extra, or take it out"
        for name in _SETTINGS:
            if _names(says, name):
                return f"set another {name}, or leave it to the server: --model-arg {name}=none"
        if self._is_about_model(says):
            return self._model()
        return (
            "check the settings (--model-arg temperature=none leaves one to the server), the model's name "
            f"and the key in {self.key_env}"
        )

    def _is_about_model(self, says: str) -> bool:
        """ "Server is pinned to 'a'; requested 'm'.", "Invalid model name passed in model=m"."""
        quoted = re.search(rf"""(["'`]){re.escape(self.model)}\1""", says) is not None
        named = "model" in says.lower() and _names(says, self.model)
        return quoted or named or re.search(_NO_MODEL, says, re.IGNORECASE) is not None


def _names(says: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", says) is not None
