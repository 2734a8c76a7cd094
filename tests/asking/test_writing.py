"""What a writer is asked, how long it may write, and what of its reply is the paraphrase."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unwaver.asking.writing import (
    CEILING,
    FLOOR,
    SERVER_FLOOR,
    WriterPrompt,
    check_prompt,
    prompt_for,
    read_prompt,
    token_limit,
    why_copy,
    written,
)
from unwaver.config import Config
from unwaver.errors import DataError, UsageError

LINES = "Dear customer,\nyour parcel is late.\n\nKind regards"


def test_the_prompt_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text('Say it in {language}. {context}\nLike {"a": 1}, {}:\n{text}\n')
    prompt = read_prompt(str(path))
    filled = prompt.fill("Wo ist {context}?", {"passage": "Ein {text}."}, "de")
    assert filled == 'Say it in German. passage: Ein {text}.\nLike {"a": 1}, {}:\nWo ist {context}?'
    assert prompt.name.startswith("mine@")
    path.write_text("{text}, please")
    assert read_prompt(str(path)).name != prompt.name, "the name is part of the key of what is written"
    assert prompt.fill("x", {}, "tlh").startswith("Say it in tlh. \n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Rephrase: {sentence}", r"has \{sentence\}, expected \{text\}"),
        ("Rephrase: {text} {txet}", r"has \{txet\}"),
        ("Rephrase it. {context}", r"has no \{text\}"),
        ("", r"has no \{text\}"),
    ],
)
def test_prompts_that_cannot_be_used(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "p.txt"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        read_prompt(str(path))


def test_files_that_are_no_prompt(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_prompt(str(tmp_path / "none.txt"))
    (tmp_path / "latin.txt").write_bytes(b"\xe9 {text}")
    with pytest.raises(DataError, match="not UTF-8"):
        read_prompt(str(tmp_path / "latin.txt"))
    with pytest.raises(UsageError, match="--writer-prompt is for a model that writes"):
        check_prompt(Config(("x",), (), writer="rules", writer_prompt="p.txt"), writes=False)


def test_our_own_prompts() -> None:
    config = Config(("x",), (), writer="openai/m")
    plain = prompt_for(config, "semantic").fill("A dog.", {}, "en")
    assert plain.startswith("Rephrase the following text")
    assert plain.endswith(": A dog.")
    with_context = prompt_for(config, "semantic").fill("A dog.", {"premise": "Two dogs run."}, "en")
    assert with_context.endswith(plain)
    assert "premise: Two dogs run." in with_context
    published = prompt_for(config, "fooling")
    assert published == WriterPrompt(
        "paraphrase@1", "Rephrase the following sentence while preserving its original meaning: {text}"
    )
    assert published.fill("A dog.", {"premise": "Two dogs run."}, "en").count("dog") == 1


def test_the_limit_follows_the_length_of_the_text() -> None:
    assert token_limit("A dog sleeps.") == FLOOR
    assert token_limit("A dog sleeps.", server=True) == SERVER_FLOOR
    assert token_limit("word " * 400) >= 2 * 400, "an English word is hardly more than a token"
    assert token_limit("犬が寝ている。" * 100) >= 2 * 700
    assert token_limit("x" * 10**6) == CEILING
    limits = [token_limit("x" * n) for n in range(0, 5000, 7)]
    assert limits == sorted(limits)
    assert len(set(limits)) < 10, "few limits, so that many texts share a batch"


@pytest.mark.parametrize(
    ("reply", "original", "text"),
    [
        (LINES, "x\ny", LINES),
        (LINES, "one line", LINES),
        (f"Sure, here it is:\n\n{LINES}\n\nLet me know if you need more!", "x\ny", LINES),
        (f'"{LINES}"', "x\ny", LINES),
        (f"```\n{LINES}\n```", "x\ny", LINES),
        (json.dumps({"text": LINES}), "x\ny", LINES),
        (f"```json\n{json.dumps({'text': LINES})}\n```", "x", LINES),
        (f"<think>Hm. {{}}</think>{json.dumps({'text': 'Ein Hund.'})}", "x", "Ein Hund."),
        ('{"paraphrase": "Ein Hund."}', "x", "Ein Hund."),
        ('{"a": "b", "c": "d"}', "x", '{"a": "b", "c": "d"}'),
        ('{"name": "Rex"}', '{"name": "Fido"}', '{"name": "Rex"}'),
        ("<think>never ends", "x", ""),
        ("- milk\n- two eggs", "- eggs\n- milk", "- milk\n- two eggs"),
        ("1. A dog.\n2. The dog.", "dog", "A dog."),
        ("Note: the shop is shut.", "Note: it is closed.", "Note: the shop is shut."),
        ("if x:\n    return  1", "if y:\n    return 2", "if x:\n    return 1"),
        ("「犬が寝ている。」", "犬は寝る", "犬が寝ている。"),
        ("«Собака спит.»", "Пёс спит.", "Собака спит."),
        ("النص\nالثاني", "x", "النص\nالثاني"),
        ("   \n ", "x", ""),
    ],
)
def test_what_is_the_paraphrase(reply: str, original: str, text: str) -> None:
    assert written(reply, original) == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("the DOG sleeps", "a copy of the original"),
        ("The, dog – sleeps!", "a copy of the original"),
        ("A dog is asleep.", None),
        ("An animal rests", "a copy of another candidate"),
    ],
)
def test_copies(text: str, why: str | None) -> None:
    assert why_copy(text, "The dog sleeps.", ["An animal rests."]) == why


def test_near_copies() -> None:
    long = "Our shop in the old town is open from nine in the morning until six in the evening on working days"
    assert "a near-copy of the original: lexical distance" in str(why_copy(long.replace("nine", "nein"), long, []))
    assert why_copy("On working days you can visit us in the old town between 9 and 18 o'clock", long, []) is None
    huge = " ".join(f"word{n}" for n in range(3000))
    assert "near-copy" in str(why_copy(huge + " more", huge, []))
    assert why_copy(" ".join(f"other{n}" for n in range(3000)), huge, []) is None
    assert why_copy("犬が寝ている", "猫が走っていた", []) is None
