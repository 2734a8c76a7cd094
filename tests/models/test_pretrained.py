"""Folders of models that are damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from unwaver.models.pretrained import MOST_LAYERS, _check_layers


@pytest.mark.parametrize(
    "config",
    [
        {"num_hidden_layers": 300_000_000},
        {"n_layers": 3e8},
        {"text_config": {"vision": {"num_layers": MOST_LAYERS + 1}}},
    ],
)
def test_too_many_layers_are_refused_before_they_are_made(tmp_path: Path, config: Any) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=r'config.json: ".*layers" is 3?.*, expected at most 10000'):
        _check_layers(tmp_path / "config.json")


@pytest.mark.parametrize(
    "text", ["", "{", "[" * 100_000, "[1]", "3", '{"num_hidden_layers": 126}', '{"layer": "x"}']
)
def test_all_else_is_left_to_transformers(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    _check_layers(tmp_path / "config.json")
    _check_layers(tmp_path / "not there")
