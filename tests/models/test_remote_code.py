"""Model folders that bring code of their own: it never runs unasked, and nobody is asked on standard input."""

from __future__ import annotations

import ast
import builtins
import io
import json
import pickle
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tiny_encoder

import unwaver
from unwaver.cli.main import main

pytest.importorskip("torch")
pytest.importorskip("transformers")

CODE = """
from pathlib import Path
Path({marker!r}).write_text("the code ran")
from transformers import BertConfig, BertModel, BertTokenizerFast
class Config(BertConfig):
    model_type = "marker"
class Model(BertModel):
    pass
class Tokenizer(BertTokenizerFast):
    pass
"""
AUTO = ("AutoModel", "AutoModelForSequenceClassification", "AutoModelForCausalLM", "AutoModelForSeq2SeqLM")
FREE = ("run", "sample/facts", "--limit", "2", "--model", "fake/random", "--out", "r", "--no-report")
NLI = ("run", "sample/snli/semantic", "--limit", "2", "--no-report", "--out", "r")
BUILD = ("build", "paraphrase", "--from", "pairs.csv", "--task", "snli", "--writer", "rules", "--out", "g.jsonl")
TRAIN = ("train", "mrpc", "--train-split", "mrpc.csv", "--epochs", "1", "--device", "cpu", "--out", "m")
WAYS: dict[str, tuple[str, ...]] = {
    "classifier": (*NLI, "--model", "hf/MODEL"),
    "writing": (*FREE[:4], "--model", "hf/MODEL", "--out", "r", "--no-report"),
    "regression": (*NLI, "--model", "regression/MODEL"),
    "embedding model": (*NLI, "--model", "embedding/MODEL"),
    "bertscore": (*FREE, "--agree", "bertscore=MODEL"),
    "embedding": (*FREE, "--agree", "embedding=MODEL"),
    "entail": (*FREE, "--agree", "entail=hf/MODEL"),
    "bidirectional": (*FREE, "--agree", "bidirectional=hf/MODEL"),
    "paraphrase": (*FREE, "--agree", "paraphrase=hf/MODEL"),
    "judge": (*FREE, "--agree", "judge=hf/MODEL"),
    "scorer": (*FREE, "--scorer", "bleurt=MODEL"),
    "scorer judge": (*FREE, "--scorer", "judge=hf/MODEL"),
    "certifying": (*BUILD, "--judge", "entail=hf/MODEL"),
    "same": (*BUILD, "--judge", "same=hf/MODEL@0.5"),
    "same embedding": (*BUILD, "--judge", "same=embedding/MODEL@0.5"),
    "encoder": (*BUILD, "--encoder", "MODEL", "--judge", "length=0.1:9"),
    "writer": (*BUILD[:6], "--writer", "hf/MODEL", "--out", "g.jsonl"),
    "base": (*TRAIN, "--base", "MODEL"),
    "masked lm": (*TRAIN, "--base", "PLAIN", "--adversarial", "masked-lm", "--masked-lm", "MODEL", "--encoder", "PLAIN"),
    "encoder of substitutes": (*TRAIN, "--base", "PLAIN", "--adversarial", "masked-lm", "--masked-lm", "PLAIN", "--encoder", "MODEL"),
    "study": ("study", "study.toml", "--device", "cpu"),
}  # fmt: skip
KINDS = {
    "classifier": ("BertForSequenceClassification", {}),
    "causal": ("BertLMHeadModel", {"is_decoder": True}),
    "seq2seq": ("BertForConditionalGeneration", {"is_encoder_decoder": True}),
    "masked": ("BertForMaskedLM", {}),
}
WRITES = {
    "writing": "causal",
    "judge": "causal",
    "scorer judge": "seq2seq",
    "writer": "causal",
    "masked lm": "masked",
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(tiny_encoder.encoder(tmp_path_factory.mktemp("plain")))


def bring_code(plain: Path, folder: Path, kind: str, *, known: bool) -> Path:
    """A copy whose JSON files name code that leaves a mark; of a type that transformers knows, or of none."""
    shutil.copytree(plain, folder)
    marker = folder.parent / "the-code-ran"
    for name in ("marker.py", "configuration_marker.py", "modeling_marker.py"):
        (folder / name).write_text(CODE.format(marker=str(marker)))
    architecture, more = KINDS[kind]
    config = json.loads((folder / "config.json").read_text())
    config |= {"architectures": [architecture], "auto_map": {"AutoConfig": "marker.Config"}, **more}
    config["auto_map"] |= dict.fromkeys((*AUTO, "AutoModelForMaskedLM"), "marker.Model")
    if not known:
        config["model_type"] = "marker"
    (folder / "config.json").write_text(json.dumps(config))
    path = folder / "tokenizer_config.json"
    told = json.loads(path.read_text())
    told["auto_map"] = {"AutoTokenizer": ["marker.Tokenizer", "marker.Tokenizer"]}
    if not known:
        told["tokenizer_class"] = "MarkerTokenizer"
    path.write_text(json.dumps(told))
    return marker


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n" * 100))
    tiny_encoder.pairs(tmp_path / "mrpc.csv", 40)
    (tmp_path / "pairs.csv").write_text("premise,hypothesis,label\nA man doesn't sleep.,He is big.,neutral\n")
    before = signal.getsignal(signal.SIGTERM)
    yield tmp_path
    signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("known", [True, False], ids=["of a known type", "of an unknown type"])
@pytest.mark.parametrize("way", WAYS)
def test_code_of_a_model_never_runs(
    plain: Path, inside: Path, way: str, known: bool, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(builtins, "input", lambda text="": asked.append(text) or "y")
    marker = bring_code(plain, inside / "model", WRITES.get(way, "classifier"), known=known)
    (inside / "study.toml").write_text(
        'bases = ["model"]\nepochs = 1\n[tasks.mrpc]\ntrain = "mrpc.csv"\nevaluate = ["sample/mrpc"]\n[settings.single]\n'
    )
    args = [a.replace("MODEL", "model").replace("PLAIN", str(plain)) for a in WAYS[way]]
    with pytest.raises(SystemExit) as ended:
        main(args)
    told = capsys.readouterr()
    assert not marker.exists(), "code of the model folder was run"
    assert not asked, "the user was asked"
    assert ended.value.code in (0, 2, 3), told.err
    assert "[y/N]" not in told.out + told.err
    if not known and way not in ("regression", "embedding model"):
        assert ended.value.code == 2, told.err
        assert "Traceback" not in told.err


def test_what_is_said_of_code(plain: Path, inside: Path, capsys: Any) -> None:
    marker = bring_code(plain, inside / "model", "classifier", known=False)
    for args, hint in (
        ((*NLI, "--model", "hf/model"), "--model-arg trust_remote_code=true"),
        ((*FREE, "--agree", "embedding=model"), "without auto_map"),
    ):
        with pytest.raises(SystemExit):
            main(list(args))
        told = capsys.readouterr().err
        assert "contains code, which unwaver does not run" in told
        assert hint in told
    assert not marker.exists()


def test_code_runs_where_the_user_says_so(plain: Path, inside: Path) -> None:
    """The documented option: the test above would pass as well if such code could not run at all."""
    marker = bring_code(plain, inside / "model", "classifier", known=False)
    with pytest.raises(SystemExit):
        main([*NLI, "--model", "hf/model", "--model-arg", "trust_remote_code=true"])
    assert marker.exists()


class Bomb:
    def __init__(self, marker: Path):
        self._marker = marker

    def __reduce__(self) -> Any:
        return (Path.write_text, (self._marker, "the pickle ran"))


@pytest.mark.parametrize("way", ["classifier", "embedding", "base"])
def test_pickled_weights_are_weights_alone(plain: Path, inside: Path, way: str, capsys: Any) -> None:
    folder, marker = inside / "model", inside / "the-pickle-ran"
    shutil.copytree(plain, folder)
    (folder / "model.safetensors").unlink()
    with (folder / "pytorch_model.bin").open("wb") as file:
        pickle.dump({"weight": Bomb(marker)}, file, protocol=2)
    if way == "classifier":
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(
            json.dumps({**config, "architectures": ["BertForSequenceClassification"]})
        )
    with pytest.raises(SystemExit) as ended:
        main([a.replace("MODEL", "model") for a in WAYS[way]])
    assert ended.value.code == 2, capsys.readouterr().err
    assert not marker.exists()


# --- the law ------------------------------------------------------------------------------------------------

HOME = Path(unwaver.__file__).parent
ALONE = HOME / "models" / "pretrained.py"
SENT = HOME / "models" / "on_ray_objects.py"  # what a run sends to its own replicas


def forbidden(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Calls that can run code of a model: they belong in one file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if node.attr in ("from_pretrained", "from_config") or node.attr.startswith("AutoModel"):
                yield node.lineno, node.attr
            if (owner, node.attr) in (("torch", "load"), ("transformers", "pipeline"), ("joblib", "load")):
                yield node.lineno, f"{owner}.{node.attr}"
            if owner in ("pickle", "cloudpickle", "dill", "marshal", "shelve"):
                yield node.lineno, owner
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "transformers":
            for name in node.names:
                if name.name.startswith("Auto") or name.name == "pipeline":
                    yield node.lineno, name.name
        said = node.value if isinstance(node, ast.keyword) else None
        if (
            isinstance(said, ast.Constant)
            and said.value is True
            and node.arg in ("trust_remote_code", "allow_pickle")
        ):
            yield said.lineno, f"{node.arg}=True"


def test_one_file_loads_models() -> None:
    found = [
        f"{path.relative_to(HOME)}:{line}: {what}: use unwaver.models.pretrained"
        for path in sorted(HOME.rglob("*.py"))
        if path not in (ALONE, SENT)
        for line, what in forbidden(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "code",
    [
        "AutoTokenizer.from_pretrained(p)",
        "getattr(transformers, kind).from_pretrained(p)",
        "transformers.AutoModelForMaskedLM",
        "from transformers import AutoConfig",
        "from transformers import pipeline",
        "torch.load(p)",
        "np.load(p, allow_pickle=True)",
        "f(trust_remote_code=True)",
        "pickle.loads(b)",
    ],
)
def test_the_law_sees(code: str) -> None:
    assert list(forbidden(ast.parse(code)))
