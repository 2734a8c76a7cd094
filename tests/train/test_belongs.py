"""Options of a training that belong to another one."""

from __future__ import annotations

from typing import Any

import pytest

from unwaver.errors import UsageError
from unwaver.train.belongs import check_options
from unwaver.train.setup import Setup


@pytest.mark.parametrize(
    ("given", "option", "needed"),
    [
        ({"samples": 3}, "--samples", "--adversarial"),
        ({"bar": 0.5}, "--bar", "--adversarial"),
        ({"encoder": "x"}, "--encoder", "--adversarial"),
        ({"adversarial": "synonym", "encoder": "x", "masked_lm": "y"}, "--masked-lm", "--adversarial masked-lm"),
        ({"test_rows": 10}, "--test-rows", "--test-split"),
        ({"share": 0.5}, "--share", "--variants"),
        ({"writer": "rules"}, "--writer", "--variants paraphrase"),
        ({"writer": "rules", "variants": {"*": ("swap",)}}, "--writer", "--variants paraphrase"),
        ({"antonyms": "x", "variants": {"*": ("negate",)}}, "--antonyms", "--variants antonym"),
        ({"lang": "de"}, "--lang", "--variants negate"),
    ],
)
def test_an_option_without_the_one_it_belongs_to_is_refused(
    given: dict[str, Any], option: str, needed: str
) -> None:
    with pytest.raises(UsageError, match=f"{option} has no effect without {needed}") as e:
        check_options([Setup(tasks=("mrpc",), base="x", **given)])
    assert f"leave {option} out" in str(e.value.hint)


def test_an_option_that_one_model_of_several_uses_is_accepted() -> None:
    plain = Setup(tasks=("mrpc",), base="x", share=0.5)
    with_pairs = Setup(tasks=("wic",), base="x", share=0.5, variants={"wic": ("swap",)})
    check_options([plain, with_pairs])
