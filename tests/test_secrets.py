from __future__ import annotations

import base64
import html
import io
import json
import subprocess
import sys
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unwaver import secret_sources, secrets
from unwaver.answers.store import Store
from unwaver.config import Config
from unwaver.engine.folder import write_whole
from unwaver.errors import UsageError
from unwaver.secret_sources import learn
from unwaver.secrets import MASK, learn_arguments, masked, masked_echo, masked_json, masked_settings, remember
from unwaver.types import Answer

KEY = "sk-Vq83hTz0_LmXw41Rb7c"
ODD = 'p"a\\s<&s> wö|rd/+='


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    secrets.forget()


@pytest.mark.parametrize("secret", [KEY, ODD])
def test_forms_of_a_secret(secret):
    remember(secret)
    for form in (
        secret,
        quote(secret),
        quote(secret, safe=""),
        quote(secret, safe="").lower(),
        json.dumps(secret),
        json.dumps(secret, ensure_ascii=False),
        json.dumps(json.dumps({"k": secret})),
        html.escape(secret),
        repr(secret),
        f"Bearer {secret}",
        secret.encode().hex(),
    ):
        left = masked(f"a {form} b").replace(MASK, "")
        assert not set(left) - set("ab \"'{}:k\\Bearer"), form
    for user in ("", "a", "me", "you"):
        coded = base64.b64encode(f"{user}:{secret}!".encode()).decode()
        assert MASK in masked(coded)
    assert masked("nothing here") == "nothing here"


@pytest.mark.parametrize(
    "stand_in", ["", "EMPTY", "none", "sk-1", "not-needed", "xxxxxxxxxxxx", "password", "  a  "]
)
def test_stand_ins_are_no_secrets(stand_in):
    remember(stand_in)
    learn("password", stand_in)
    assert masked(f"it says {stand_in} here") == f"it says {stand_in} here" or len(stand_in.strip()) >= 4
    assert masked("EMPTY none password not-needed xxxxxxxxxxxx") == "EMPTY none password not-needed xxxxxxxxxxxx"


def test_short_passwords_are_masked_as_words():
    learn("password", "ab12")
    assert masked("ab12, xab12, ab123, (ab12)") == "[key], xab12, ab123, ([key])"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("api_key", KEY), ("X-Api-Key", KEY), ("accessToken", KEY), ("Authorization", f"Bearer {KEY}"),
        ("Cookie", f"a=1; session={KEY}"), ("extra", json.dumps({"a": [{"client_secret": KEY}]})),
        ("extra", {"headers": {"authorization": f"Basic {base64.b64encode(f'me:{KEY}'.encode()).decode()}"}}),
        ("extra", f'{{"token": "{KEY}"'), ("base_url", f"http://me:{KEY}@host/v1"),
        ("base_url", f"http://host/{KEY}/v1"), ("base_url", "http://host/v1/key/0abcDEF123/x"),
        ("base_url", f"http://host/v1?token={KEY}"),
    ],
)  # fmt: skip
def test_where_secrets_are_learnt(name, value):
    learn(name, value)
    assert masked(KEY) == MASK or masked("0abcDEF123") == MASK


@pytest.mark.parametrize(
    "arguments",
    [
        ["--model-arg", "max_tokens=20000000"],
        ["--model-arg", 'extra={"max_completion_tokens": 20000000, "eos_token": "</s></s>", "top_k": 20000000}'],
        ["--model", "hf/models/hf_tiny_classifier_2", "--model", "openai/sk-bert-base-cased-v1"],
        ["--model-arg", "base_url=http://host:8000/openai/deployments/gpt-4o-mini-2024-07-18/v1"],
        ["--system", "The password: please guess it. Your token: secretly yours."],
        ["--metric-key", "exact_match", "--column", "key=question_id"],
        ["--agree", "judge=openai/m,rubric=Say {a} or {b}, secret: whatever you like"],
    ],
)
def test_what_is_no_secret(arguments):
    learn_arguments(arguments)
    for argument in arguments:
        assert masked(argument) == argument


def test_halves_of_a_key_in_what_a_server_says():
    remember(KEY)
    for said in ("sk-Vq***7c", "sk-Vq83h...41Rb7c", "sk-…7c", "****Rb7c", "ending in Rb7c", KEY[:-4], KEY[5:]):
        left = masked_echo(f"the key {said} is wrong").replace(MASK, "")
        assert left.split() in (["the", "key", "is", "wrong"], ["the", "key", "ending", "in", "is", "wrong"])
    assert masked_echo("too many tokens: 12... stop") == "too many tokens: 12... stop"


def test_json_stays_json():
    remember("12345678")
    remember('n"1234\\3x')
    text = json.dumps({"a": 12345678, "b": "12345678", "c": 0.12345678, "d": 'x\nn"1234\\3x', "12345678": None})
    assert json.loads(masked_json(text)) == {
        "a": 12345678,
        "b": MASK,
        "c": 0.12345678,
        "d": f"x\n{MASK}",
        MASK: None,
    }
    assert masked_settings({"password": 12345678, "max_tokens": 5, "x": (True, "12345678")}) == {
        "password": MASK, "max_tokens": 5, "x": (True, MASK),
    }  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(
    st.text(min_size=8, max_size=30), st.recursive(st.text() | st.integers(), lambda s: st.lists(s, max_size=3))
)
def test_any_secret_leaves_any_json_as_json(secret, value):
    secrets.forget()
    remember(secret)
    document = {"before": value, secret: secret, "list": [f"a{secret}b", json.dumps(secret)]}
    clean = json.loads(masked_json(json.dumps(document)))
    if masked(secret.strip()) != secret.strip():
        assert not any(secret.strip() in str(part) for part in clean["list"] if secret.strip() not in MASK)
    secrets.forget()


def test_files_the_store_and_errors(tmp_path):
    remember(KEY)
    write_whole(tmp_path / "a.json", json.dumps({"k": KEY}))
    write_whole(tmp_path / "a.html", f"<p>{KEY}")
    write_whole(tmp_path / "a.svg", f"<text>{KEY}</text>".encode())
    write_whole(tmp_path / "a.png", b"\xff\xfe" + KEY.encode())
    assert [(tmp_path / f"a.{end}").read_text() for end in ("json", "html", "svg")] == [
        '{"k": "[key]"}', "<p>[key]", "<text>[key]</text>",
    ]  # fmt: skip
    store = Store(tmp_path / "s.sqlite")
    store.put([("a", Answer(text=f"raw {KEY}", finish=f"stop {KEY}")), ("b", Answer(error=f"bad {KEY[:6]}***"))])
    store.link([(0, f"item {KEY}", 0, "a")])
    assert store.answers(["a"])["a"] == Answer(text=f"raw {KEY}", finish="stop [key]")
    assert (store.failures(["b"]), store.linked()) == ({"b": "bad [key]"}, [(0, "item [key]", 0, "a")])
    store.close()
    error = UsageError(f"no {KEY}", hint=f"give {KEY}", file=f"/x/{KEY}")
    assert KEY not in str(error) + repr(error) + json.dumps(error.as_dict())


@pytest.mark.parametrize(
    "options",
    [
        {"model_args": {"base_url": "http://me:pw@host/v1"}}, {"writer_args": {"base_url": "http://me@host"}},
        {"agree": ("judge=openai/m,base_url=http://me:pw@host/v1",)}, {"judges": ("same=openai/m,u=http://a:b@c",)},
        {"scorers": ("judge=openai/m,base_url=https://me:pw@host/v1",)}, {"writer": "openai/http://a:b@c/"},
        {"models": ("openai/http://a:b@c",)}, {"encoder": "https://a:b@c/d"},
    ],
)  # fmt: skip
def test_credentials_are_refused_wherever_a_model_is_named(options):
    with pytest.raises(UsageError, match="holds a user name or password") as e:
        Config(("sample",), **{"models": ("fake/random",), **options})
    assert "pw" not in str(e.value.as_dict())


@pytest.mark.parametrize(
    "agree",
    ["judge=openai/m,base_url=http://host:8000@0.5", "judge=openai/m,base_url=http://h/v1@0.7", "exact@0.5"],
)
def test_a_threshold_is_no_password(agree):
    assert Config(("sample",), ("fake/random",), agree=(agree,)).agree == (agree,)


def test_streams_hold_back_secrets():
    code = f"""
import sys
from unwaver.cli.streams import guard
from unwaver.secrets import remember
guard(); remember({KEY!r})
print("out", {KEY!r}); print("err", {KEY!r}, file=sys.stderr)
raise ValueError({KEY!r})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "out [key]\n"
    assert "err [key]" in done.stderr
    assert done.stderr.endswith("ValueError: [key]\n")


def test_it_costs_little_to_import():
    code = (
        "import sys, unwaver.secrets; print([m for m in ('numpy', 'polars', 'httpx', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n"


def test_rich_does_not_break_a_key_before_it_is_masked():
    from rich.console import Console

    from unwaver.text.shown import safe

    remember(KEY)
    out = io.StringIO()
    Console(file=out, width=12).print(safe(f"wrong key {KEY}"), markup=False)
    assert KEY[:4] not in out.getvalue()


@pytest.mark.parametrize("text", ["x" * 70_000, "a." * 40_000, "x://" * 20_000, "a=" * 40_000, ",a" * 40_000])
def test_long_texts_are_searched_once(text):
    """The test ends at all: each letter was the beginning of a name as long as the text."""
    secret_sources.learn_text(text)
