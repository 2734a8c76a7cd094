"""One comment on a pull request, updated by each check: `python -m unwaver.project.comment check.md`, in CI.

It reads what GitHub sets: GITHUB_TOKEN, GITHUB_REPOSITORY, GITHUB_API_URL and GITHUB_EVENT_PATH. Where the token
may not write, as in pull requests from forks, it says so and succeeds: the summary of the job holds the same text.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MARK = "<!-- unwaver check -->"
LONGEST = 60_000  # characters; GitHub takes 65,536
TIMEOUT = 30.0
PAGES = 10
_MAY_NOT = (401, 403, 404)


def main(arguments: list[str], environment: Mapping[str, str] = os.environ) -> int:
    if len(arguments) != 1:
        print("usage: python -m unwaver.project.comment FILE", file=sys.stderr)
        return 2
    number = pull_request(environment)
    token, repository = environment.get("GITHUB_TOKEN"), environment.get("GITHUB_REPOSITORY")
    if number is None or not token or not repository:
        print("no comment: this is not a pull request, or there is no token")
        return 0
    text = f"{MARK}\n{Path(arguments[0]).read_text(encoding='utf-8')}"
    api = environment.get("GITHUB_API_URL", "https://api.github.com").rstrip("/")
    try:
        print(put(f"{api}/repos/{repository}", number, text[:LONGEST], token))
    except urllib.error.HTTPError as e:
        e.close()
        if e.code not in _MAY_NOT:
            print(f"no comment: {api} answered {e.code} {e.reason}", file=sys.stderr)
            return 1
        print(f"no comment: the token may not write here ({e.code}); the job summary has the same text")
    except (urllib.error.URLError, TimeoutError) as e:
        print(f"no comment: {api} cannot be reached: {getattr(e, 'reason', e)}", file=sys.stderr)
        return 1
    return 0


def pull_request(environment: Mapping[str, str]) -> int | None:
    """The number of the pull request that the job is about."""
    try:
        event = json.loads(Path(environment["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
        return int(event["pull_request"]["number"])
    except (KeyError, OSError, ValueError, TypeError):
        return None


def put(repository: str, number: int, text: str, token: str) -> str:
    """Update the comment of an earlier check, or write the first."""
    for page in range(1, PAGES + 1):
        found = _call(f"{repository}/issues/{number}/comments?per_page=100&page={page}", token)
        for comment in found if isinstance(found, list) else []:
            if isinstance(comment, dict) and str(comment.get("body", "")).startswith(MARK):
                _call(f"{repository}/issues/comments/{int(comment['id'])}", token, {"body": text}, "PATCH")
                return "the comment was updated"
        if not isinstance(found, list) or len(found) < 100:
            break
    _call(f"{repository}/issues/{number}/comments", token, {"body": text}, "POST")
    return "a comment was written"


def _call(url: str, token: str, body: Mapping[str, str] | None = None, method: str = "GET") -> Any:
    headers = {"Accept": "application/vnd.github+json", "Authorization": f"Bearer {token}"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, headers=headers, method=method)
    with urllib.request.urlopen(request, timeout=TIMEOUT) as reply:
        return json.loads(reply.read() or b"null")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
