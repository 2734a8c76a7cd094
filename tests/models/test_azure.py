"""Azure's addresses, and headers of one's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from unwaver import secrets
from unwaver.errors import ModelError, UsageError
from unwaver.models import openai
from unwaver.models.openai_address import address_of, headers_of
from unwaver.types import Request

sys.path.insert(0, str(Path(__file__).parents[1]))
from server import Raw, Server

KEY = "sk-secret-7f3a9c1e5b"
ASKED = Request("t", (), "Is it?", ("y", "n"), ("Yes", "No"))
AZURE = "https://x.openai.azure.com"
VERSION = "2024-10-21"
DEPLOYED = "/openai/deployments/gpt/chat/completions?api-version=2024-10-21"


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


class Cloud(Server):
    """Answers every path, and keeps the headers."""

    def __init__(self):
        self.headers = []
        super().__init__(script=self.said)

    def said(self, _number, _body, headers):
        self.headers.append({name.lower(): value for name, value in headers.items()})
        return Raw(200, {"choices": [{"message": {"content": "Yes"}, "finish_reason": "stop"}]})

    @property
    def host(self):
        return self.url.removesuffix("/v1")


def asked(base_url, name="gpt", **options):
    model = openai.open_model(name, base_url=base_url, **{"retries": 0, **options})
    try:
        return [answer for batch in model.answer([ASKED, ASKED]) for _, answer in batch], model
    finally:
        model.close()


# --- Azure


@pytest.mark.parametrize(
    ("end", "options", "path"),
    [
        ("?api-version=2024-10-21", {}, DEPLOYED),
        ("/?api-version=2024-10-21", {}, DEPLOYED),
        ("/openai?api-version=2024-10-21", {}, DEPLOYED),
        ("/openai/deployments?api-version=2024-10-21", {}, DEPLOYED),
        ("/openai/deployments/gpt?api-version=2024-10-21", {}, DEPLOYED),
        ("/openai/deployments/gpt/?api-version=2024-10-21", {}, DEPLOYED),
        ("/openai/deployments/gpt/chat/completions?api-version=2024-10-21", {}, DEPLOYED),
        ("", {"api_version": VERSION}, DEPLOYED),
        ("/openai/deployments/gpt", {"api_version": VERSION}, DEPLOYED),
        ("?api-version=2024-10-21", {"api_version": VERSION}, DEPLOYED),
        ("/gate/openai", {"api_version": VERSION}, f"/gate{DEPLOYED}"),
        ("/openai/v1?api-version=preview", {}, "/openai/v1/chat/completions?api-version=preview"),
        ("/v1?a=1&api-version=2024-10-21&b=", {}, "/v1/chat/completions?a=1&api-version=2024-10-21&b="),
    ],
)
def test_the_path_and_the_query_of_every_request(end, options, path):
    with Cloud() as server:
        given, model = asked(server.host + end, **options)
    assert [a.text for a in given] == ["Yes", "Yes"]
    assert server.paths == [path] * 2
    assert {h["api-key"] for h in server.headers} == {KEY}
    assert not any("authorization" in h for h in server.headers)
    assert model.identity.removeprefix("openai:").startswith(server.host)


def test_an_address_says_the_same_in_both_forms():
    written = address_of(f"{AZURE}?api-version={VERSION}", "gpt", None)
    assert written == address_of(f"{AZURE}/openai/deployments/gpt", "gpt", VERSION)
    assert written.whole == f"{AZURE}/openai/deployments/gpt?api-version={VERSION}"
    assert written.base == f"{AZURE}/openai/deployments/gpt"


@pytest.mark.parametrize("end", ["?team=a", "?a=1&a=2", "?x=%20y"])
def test_any_query_is_kept(end):
    with Cloud() as server:
        asked(f"{server.host}/v1{end}")
    assert server.paths == [f"/v1/chat/completions{end}"] * 2
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


def test_log_probabilities_go_to_the_deployment_too():
    with Cloud() as server:
        answers, _ = asked(f"{server.host}?api-version={VERSION}", method="logprob")
    assert server.paths[0] == f"/openai/deployments/gpt/completions?api-version={VERSION}"
    assert set(server.paths[1:]) == {DEPLOYED}, "the server has no log-probabilities, so it writes"
    assert [answer.text for answer in answers] == ["Yes", "Yes"]


@pytest.mark.parametrize(
    "host", ["x.openai.azure.com", "x.cognitiveservices.azure.com", "x.services.ai.azure.com"]
)
def test_azure_is_known_by_its_host(host):
    address = address_of(f"https://{host}/openai/v1", "gpt", None)
    assert address.target("/chat/completions") == "/openai/v1/chat/completions"
    assert headers_of(KEY, address.azure, None)["api-key"] == KEY


def test_a_token_of_entra_goes_as_a_token():
    headers = headers_of("Bearer eyJ.a.b", True, None)
    assert headers["Authorization"] == "Bearer eyJ.a.b"
    assert "api-key" not in headers


def test_azure_has_hints_of_its_own():
    script = lambda *_: Raw(404, {"error": {"code": "DeploymentNotFound", "message": "no such deployment"}})  # noqa: E731
    with Server(script=script) as server, pytest.raises(ModelError, match="answered 404") as e:
        asked(f"{server.url.removesuffix('/v1')}?api-version={VERSION}")
    assert "is there a deployment gpt?" in e.value.hint


@pytest.mark.parametrize(
    ("base_url", "options", "message"),
    [
        (
            f"{AZURE}?api-version=2024-10-21",
            {"api_version": "2025-01-01"},
            "base_url has api-version=2024-10-21 and",
        ),
        (AZURE, {"api_version": "2024 10"}, "api_version is not a version"),
        (AZURE, {"api_version": ""}, "api_version is not a version"),
        (AZURE, {"api_version": "a&b=c"}, "api_version is not a version"),
        (f"{AZURE}?api-version=2024-10-21#x", {}, "base_url has a part after #"),
        (f"{AZURE}?api-key={KEY}", {}, r"base_url has a part after \? that may be a key"),
        (f"{AZURE}?code=Zq83hTz0LmXw41Rb7cAAAA", {}, r"base_url has a part after \? that may be a key"),
        (f"{AZURE}?x={KEY}", {}, r"base_url has a part after \? that may be a key"),
        (f"{AZURE}?api-version=2024\u00e9", {}, r"base_url has a part after \? that cannot be sent"),
    ],
)
def test_bad_queries(base_url, options, message):
    with pytest.raises(UsageError, match=message) as e:
        openai.open_model("gpt", base_url=base_url, **options)
    assert "Zq83hTz0" not in str(e.value.as_dict())
    assert KEY not in str(e.value.as_dict())


# --- headers


def test_headers_go_with_every_request(monkeypatch):
    monkeypatch.setenv("GATE_KEY", "from-the-environment-1")
    with Cloud() as server:
        headers = {"X-Team": "evals", "X-Number": 7, "X-Gate": "$GATE_KEY", "authorization": "Token of-mine-1234"}
        asked(server.url, headers=headers)
        asked(server.url, headers=json.dumps(headers))
    for sent in server.headers:
        assert (sent["x-team"], sent["x-number"], sent["x-gate"]) == ("evals", "7", "from-the-environment-1")
        assert sent["authorization"] == "Token of-mine-1234"
    assert len(server.headers) == 4


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ("{", "headers is not a JSON object"),
        ("[1]", "headers is not a JSON object"),
        ({"X y": "1"}, "headers has a name that is not"),
        ({"X:": "1"}, "headers has a name that is not"),
        ({"": "1"}, "headers has a name that is not"),
        ({"Host": "evil"}, "headers cannot hold Host"),
        ({"content-length": "1"}, "headers cannot hold content-length"),
        ({"X": "the-secret\r\nY: 1"}, "the value of X has characters"),
        ({"X": "the-secr\u00e9t"}, "the value of X has characters"),
        ({"X": ["the-secret"]}, "the value of X is not text"),
        ({"X": True}, "the value of X is not text"),
        ({"X": "$NO_SUCH_VARIABLE"}, "names an environment variable that is not set"),
    ],
)
def test_bad_headers_are_named_without_their_values(headers, message):
    with pytest.raises(UsageError, match=message) as e:
        openai.open_model("m", base_url="http://localhost:1/v1", headers=headers)
    assert "the-sec" not in str(e.value.as_dict())


@pytest.mark.parametrize("given", ['headers={"X-Org": "plain-team-7"}', 'headers={"X-Org": "plain-team-7"'])
def test_values_of_headers_are_masked_whatever_their_name(given):
    secrets.forget()
    secrets.learn_arguments(["--model-arg", given])
    assert "plain-team-7" not in secrets.masked(f"run --model-arg {given}")
    secrets.forget()


def test_no_value_of_a_header_is_written_or_printed(tmp_path):
    value = "team-rocket-77"
    clean = {k: v for k, v in os.environ.items() if k not in ("OPENAI_API_KEY", "OPENAI_BASE_URL")}

    def echo(number, _body, headers):
        return Raw(400, {"error": {"message": f"who is {headers['X-Org']}?"}}) if number > 2 else None

    with Server(script=echo) as server:
        command = [sys.executable, "-m", "unwaver.cli.main", "run", "sample/snli/semantic", "--limit", "3"]
        options = [f"base_url={server.url}", "retries=0", f'headers={{"X-Org": "{value}"}}']
        command += ["--model", "openai/m", "--out", "r", *(x for o in options for x in ("--model-arg", o))]
        done = subprocess.run(command, cwd=tmp_path, env=clean, capture_output=True, text=True)
    assert (tmp_path / "r" / "run.json").exists(), done.stderr
    assert value not in done.stdout + done.stderr
    for path in (tmp_path / "r").rglob("*"):
        assert not path.is_file() or value.encode() not in path.read_bytes(), path
    assert "[key]" in (tmp_path / "r" / "run.json").read_text()
