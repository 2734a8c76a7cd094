"""JSON and calls of tools, compared field by field."""

from __future__ import annotations

import json
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unwaver.agree import Agreement, Pair
from unwaver.agree.comparison import parse_agreement, parse_agreements
from unwaver.agree.json_answers import fields_of
from unwaver.answers.calls import RAW, calls_in, written_calls
from unwaver.answers.formats import check, formats_of, validator
from unwaver.answers.table import label_reader
from unwaver.errors import DataError, ModelError, UsageError
from unwaver.types import Answer, Beside, Item


def value(agreement: Agreement, a: Any, b: Any) -> float | None:
    one, other = (x if isinstance(x, str) else json.dumps(x) for x in (a, b))
    assert agreement.compare is not None
    [found] = agreement.compare([Pair("", one, other)])
    [turned] = agreement.compare([Pair("", other, one)])
    assert found == turned
    return found


def fields(agreement: Agreement, a: Any, b: Any) -> dict[str, float | None]:
    """The value of each field."""
    one, other = (x if isinstance(x, str) else json.dumps(x) for x in (a, b))
    assert agreement.parts is not None
    return {part.name: value(part, one, other) for part in agreement.parts([one, other])}


def test_a_field_that_differs_breaks_the_whole_and_itself() -> None:
    rome, other = {"city": "Rome", "price": 10}, {"price": 12, "city": "Rome"}
    whole = parse_agreement("json")
    assert (value(whole, rome, rome), value(whole, rome, other)) == (1.0, 0.0)
    assert fields(whole, rome, other) == {"json.city": 1.0, "json.price": 0.0}


@pytest.mark.parametrize(
    ("rule", "a", "b", "same"),
    [
        ("exact", 1, 1.0, 1.0),
        ("exact", 1, True, 0.0),
        ("exact", "Rome", "rome", 0.0),
        ("exact", {"x": 1, "y": 2}, {"y": 2, "x": 1}, 1.0),
        ("normalised", "Rome.", "rome", 1.0),
        ("0.01", 10.001, 10, 1.0),
        ("0.01", 10.02, 10, 0.0),
        ("0.01", "10.001", 10, 1.0),
        ("5%", 100, 104, 1.0),
        ("5%", 100, 110, 0.0),
        ("0.01", "unknown", "unknown", 1.0),
        ("0.01", "unknown", 10, 0.0),
        ("set", ["a", "b"], ["b", "a"], 1.0),
        ("set", ["a", "b"], ["a"], 0.0),
        ("exact", ["a", "b"], ["b", "a"], 0.0),
        ("numeric", "a dozen", "12", None),
        ("math", r"\frac{1}{2}", "0.5", 1.0),
    ],
)
def test_each_field_has_its_rule(rule: str, a: Any, b: Any, same: float | None) -> None:
    agreement = parse_agreement(f"json,it={rule}")
    assert fields(agreement, {"it": a}, {"it": b})["json.it"] == same
    assert value(agreement, {"it": a}, {"it": b}) == same


def test_what_one_lacks_differs_and_what_both_lack_is_not_compared() -> None:
    agreement = parse_agreement("json,fields=city+price")
    assert fields(agreement, {"city": "Rome"}, {"city": "Rome", "price": 1}) == {
        "json.city": 1.0,
        "json.price": 0.0,
    }
    assert fields(agreement, {"city": "Rome"}, {"city": "Rome"}) == {"json.city": 1.0, "json.price": None}
    assert value(agreement, {"city": "Rome"}, {"city": "Rome"}) == 1.0
    assert value(agreement, {"city": "Rome", "why": "x"}, {"city": "Rome", "why": "y"}) == 1.0, "it does not count"


def test_what_is_not_json_agrees_with_nothing() -> None:
    agreement = parse_agreement("json")
    assert value(agreement, "no idea", "no idea") == 0.0
    assert value(agreement, "no idea", {"city": "Rome"}) == 0.0
    assert value(agreement, 'book({"city": "Rome"})', 'book({"city": "Rome"})') == 0.0
    assert agreement.unread is not None
    assert [agreement.unread(t) for t in ("no idea", "7", "{}", 'So: ```json\n{"a": 1}\n```')] == [
        True,
        True,
        False,
        False,
    ]


def test_fields_are_named_by_their_path() -> None:
    text = '{"a": {"b": 1, "c": {}}, "items": [{"p": 1}, {"p": 2}]}'
    assert dict(fields_of(text) or {}) == {"a.b": 1, "a.c": {}, "items": [{"p": 1}, {"p": 2}]}
    wanted = fields_of(text, ("items.0.p", "items.*.p", "items.9.p")) or {}
    assert (wanted["items.0.p"], wanted["items.*.p"], "items.9.p" in wanted) == (1, [1, 2], False)
    agreement = parse_agreement("json,fields=a.b+items.*.p,a.b=0.5,items.*.p=set")
    assert value(agreement, text, '{"a": {"b": 1.4}, "items": [{"p": 2}, {"p": 1}]}') == 1.0


def test_a_schema_says_which_fields_count(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"city": {}, "at": {"type": "object", "properties": {"day": {}}}}}
    path = tmp_path / "schema.json"
    for content in (schema, {"type": "json_schema", "json_schema": {"schema": schema}}):
        path.write_text(json.dumps(content))
        agreement = parse_agreement(f"json,schema={path}")
        assert agreement.parts is not None
        assert [part.name for part in agreement.parts([])] == ["json.city", "json.at.day"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("json,price=close", "unknown"),
        ("json,fields=a+,a=1", "empty name"),
        ("json,fields=a,b=0.1", "does not count"),
        ("json,schema=nowhere.json", "No such file"),
        ("json,price=json", "not possible for a field"),
        ("tool,order=perhaps", "true or false"),
    ],
)
def test_a_wrong_option_is_said_at_once(given: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        parse_agreement(given)
    assert caught.value.hint


def test_a_field_may_ask_a_model() -> None:
    whole, part = parse_agreements(["json,fields=city+why,why='judge=openai/m,base_url=http://127.0.0.1:9/v1'"])
    assert (whole.name, part.name, part.model, part.part_of) == ("json", "json.why", "openai/m", "json")
    assert part.settled is not None
    a, b = '{"city": "Rome", "why": "near"}', '{"city": "Rome", "why": "It is close."}'
    assert part.settled(Pair("", a, a)) == (1.0,)
    assert part.settled(Pair("", a, "no idea")) == (0.0,)
    assert part.settled(Pair("", a, b)) is None
    assert part.request is not None
    assert "Answer 1: near\nAnswer 2: It is close." in part.request(Pair("Where?", a, b)).prompt
    assert whole.whole is not None
    for told, expected in ((True, 1.0), (False, 0.0), (None, None)):
        assert whole.whole([Pair("", a, b)], {"why": {Pair("", a, b): told}}) == [expected]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text("xyz", min_size=1, max_size=1), inner, max_size=2)
    ),
    max_leaves=5,
)


@given(
    st.dictionaries(st.sampled_from("pqr"), JSON, min_size=1),
    st.dictionaries(st.sampled_from("pqr"), JSON, min_size=1),
)
def test_the_whole_agrees_where_all_fields_do(a: dict[str, Any], b: dict[str, Any]) -> None:
    agreement = parse_agreement("json")
    parts = fields(agreement, a, b)
    assert value(agreement, a, b) == float(all(v == 1.0 for v in parts.values()))
    assert value(agreement, a, a) == 1.0


# --- calls --------------------------------------------------------------------------------------------------------


def calls(*named: tuple[str, Any]) -> str:
    found = written_calls(json.dumps([{"function": {"name": n, "arguments": json.dumps(a)}} for n, a in named]))
    assert found is not None
    return found


def test_calls_are_written_and_read_back() -> None:
    text = calls(("book", {"city": "Rome", "at": {"day": 1}}), ("pay", {}))
    assert text == 'book({"city": "Rome", "at": {"day": 1}})\npay({})'
    assert [(c.name, c.arguments) for c in calls_in(text)] == [
        ("book", {"city": "Rome", "at": {"day": 1}}),
        ("pay", {}),
    ]
    assert written_calls('{"name": "f", "arguments": "{\\"a\\": 1}"}') == 'f({"a": 1})'
    assert written_calls('[{"type": "tool_use", "name": "f", "input": {"a": 1}}]') == 'f({"a": 1})'
    assert written_calls('[{"function": {"name": "f", "arguments": "{oops"}}]') == f'f({{"{RAW}": "{{oops"}})'
    assert written_calls("[1]") is None
    assert calls_in("I would call book(Rome).") == []


def test_functions_and_arguments_are_compared_apart() -> None:
    agreement = parse_agreement("tool")
    rome, oslo = calls(("book", {"city": "Rome", "n": 1})), calls(("book", {"city": "Oslo", "n": 1}))
    assert value(agreement, rome, oslo) == 0.0
    assert fields(agreement, rome, oslo) == {"tool.functions": 1.0, "tool.book.city": 0.0, "tool.book.n": 1.0}
    assert fields(agreement, rome, calls(("pay", {})))["tool.functions"] == 0.0
    assert value(agreement, "I do not know.", "No idea.") == 1.0, "neither calls anything"
    assert value(agreement, "I do not know.", rome) == 0.0
    assert value(parse_agreement("tool,book.n=1"), rome, calls(("book", {"city": "Rome", "n": 2}))) == 1.0
    assert value(parse_agreement("tool,fields=book.city"), rome, calls(("book", {"city": "Rome", "n": 2}))) == 1.0


def test_the_order_of_calls_counts_if_asked() -> None:
    one, other = calls(("a", {}), ("b", {"x": 1})), calls(("b", {"x": 1}), ("a", {}))
    assert (value(parse_agreement("tool"), one, other), value(parse_agreement("tool,order=true"), one, other)) == (
        1.0,
        0.0,
    )


def test_calls_of_one_function_are_matched_as_wholes() -> None:
    """By argument both have the values 1 and 2; no two calls are the same."""
    crossed = calls(("f", {"a": 1, "b": 2}), ("f", {"a": 2, "b": 1}))
    straight = calls(("f", {"a": 1, "b": 1}), ("f", {"a": 2, "b": 2}))
    turned = calls(("f", {"a": 2, "b": 1}), ("f", {"a": 1, "b": 2}))
    agreement = parse_agreement("tool")
    assert (value(agreement, crossed, straight), value(agreement, crossed, turned)) == (0.0, 1.0)


@given(st.permutations([("f", 1), ("f", 2), ("g", 1), ("h", 3)]))
def test_any_order_of_the_same_calls_agrees(order: list[tuple[str, int]]) -> None:
    texts = [
        calls(*((n, {"x": x}) for n, x in some)) for some in (order, [("f", 1), ("f", 2), ("g", 1), ("h", 3)])
    ]
    assert all(value(parse_agreement("tool"), a, b) == 1.0 for a, b in combinations(texts, 2))


# --- as answers ---------------------------------------------------------------------------------------------------

TOOLS = json.dumps([{"type": "function", "function": {"name": "book", "parameters": {"type": "object"}}}])
CALLED = '[{"function": {"name": "book", "arguments": "{\\"city\\": \\"Rome\\"}"}}]'


@pytest.mark.parametrize(
    ("tools", "finish", "label", "status", "kept"),
    [
        (TOOLS, "tool_calls", 'book({"city": "Rome"})', "answered", 1.0),
        (TOOLS, "length", None, "cut", None),
        ("", "tool_calls", None, "tool_call", None),
    ],
)
def test_a_call_is_an_answer_where_tools_are_offered(
    tools: str, finish: str, label: str | None, status: str, kept: float | None
) -> None:
    item = Item("i", "own", "original", {"text": "x"}, tools=tools)
    answer = Answer(text="", finish=finish, beside=Beside(tool_calls=CALLED))
    read = label_reader({("i", 0): answer}, {}, normalise=False)(item, 0)
    assert (read.label, read.status) == (label, status)
    assert formats_of([(item, answer)], [read.status]).to_list() == [kept]


@pytest.mark.parametrize(
    ("text", "label", "kept"),
    [
        ('<tool_call>\n{"name": "book", "arguments": {"n": 1}}\n</tool_call>', 'book({"n": 1})', 1.0),
        (
            '<tool_call>[{"name": "book", "arguments": {}}, {"name": "pay", "arguments": {}}]</tool_call>',
            "book({})\npay({})",
            0.0,
        ),
        ("<tool_call>book</tool_call>", "<tool_call>book</tool_call>", -1.0),
        ("I cannot.", "I cannot.", -1.0),
    ],
)
def test_a_local_model_writes_its_calls_into_the_text(text: str, label: str, kept: float) -> None:
    item = Item("i", "own", "original", {"text": "x"}, tools=TOOLS)
    read = label_reader({("i", 0): Answer(text=text)}, {}, normalise=False)(item, 0)
    assert (read.label, read.status) == (label, "answered")
    assert formats_of([(item, Answer(text=text))], ["answered"]).to_list() == [kept]


def test_a_missing_library_is_said_before_anything_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    validator.cache_clear()
    item = Item(
        "i",
        "own",
        "original",
        {"text": "x"},
        response_format='{"type": "json_schema", "json_schema": {"schema": {"title": "x"}}}',
    )
    with pytest.raises(ModelError, match="jsonschema is not installed"):
        check([item])


@pytest.mark.parametrize(
    ("response_format", "text", "kept"),
    [
        ({"type": "json_object"}, '{"a": 1}', 1.0),
        ({"type": "json_object"}, "[1]", 0.0),
        ({"type": "json_object"}, '```json\n{"a": 1}\n```', 0.0),
        ({"type": "json_object"}, '<think>Hm.</think>{"a": 1}', 1.0),
        ({"type": "json_object"}, "", 0.0),
        ({"type": "json_schema", "json_schema": {"schema": {"required": ["a"]}}}, '{"a": 1}', 1.0),
        ({"type": "json_schema", "json_schema": {"schema": {"required": ["a"]}}}, '{"b": 1}', 0.0),
        ({"type": "text"}, "anything", None),
    ],
)
def test_the_format_is_kept_if_a_program_can_read_it(
    response_format: object, text: str, kept: float | None
) -> None:
    item = Item("i", "own", "original", {"text": "x"}, response_format=json.dumps(response_format))
    assert formats_of([(item, Answer(text=text))], ["answered"]).to_list() == [kept]
    assert formats_of([(item, None)], ["not_asked"]).to_list() == [None]


def test_a_schema_fetches_nothing() -> None:
    with pytest.raises(DataError, match="refers to"):
        validator('{"$ref": "https://example.com/other.json"}')({})
    with pytest.raises(DataError, match="not a JSON schema"):
        validator('{"type": 7}')
