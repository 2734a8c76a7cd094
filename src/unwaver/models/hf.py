"""Hugging Face models: a hub id or a local folder. What kind of model it is, its own configuration says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from unwaver.errors import ModelError, UsageError
from unwaver.models.absolute import absolute_hint
from unwaver.models.hf_common import folder_identity, import_torch, read_config
from unwaver.models.pretrained import pretrained
from unwaver.models.trained import Trained, read_trained
from unwaver.tasks import T5
from unwaver.types import Model

BILSTM = "UnwaverBiLstm"  # the architecture of unwaver.models.bilstm
HUB_SECONDS = 5.0  # that the hub has to answer


def open_model(
    name: str,
    *,
    method: str | None = None,
    form: str | None = None,
    system: str | None = None,
    chat: bool | None = None,
    device: str | None = None,
    dtype: str | None = None,
    batch_tokens: int | None = None,
    max_tokens: int | None = None,
    temperature: float = 0.0,
    top_p: float = 1.0,
    seed: int = 0,
    num_beams: int = 1,
    stop: str | list[str] | None = None,
    no_repeat_ngram: int = 0,
    map: dict[str, str] | None = None,
    revision: str | None = None,
    trust_remote_code: bool = False,
) -> Model:
    """`method`: a classifier classifies; a language model gives the log-probability of each choice ("logprob",
    the default) or writes an answer that is read ("generate"); free text is written in any case. `max_tokens` is
    16 to say a label and 64 in free text if not given. `map` joins a classifier's labels to the task's. Weights
    are loaded when the first question is asked. `form` is the layout of the items; T5 and its kin read "t5" unless
    told otherwise, and then write their answer by default."""
    path, config, identity, shown = found(name, revision, trust_remote_code)
    trained = read_trained(Path(path))
    loading: dict[str, Any] = {
        "device": device,
        "dtype": dtype,
        "revision": revision,
        "trust_remote_code": trust_remote_code,
    }
    kind = "classifier" if trained is not None and trained.heads else kind_of(config, name)
    if kind in ("classifier", "bilstm"):
        if method not in (None, "classify"):
            raise UsageError(f"{name} is a classifier: it has no method {method}", hint="leave --method out")
        if kind == "bilstm":
            from unwaver.models.bilstm import open_bilstm

            return open_bilstm(Path(path), shown, identity, config, trained, device, map or {})
        loading |= {"batch_tokens": batch_tokens, "trained": trained, "map": map or {}}
        if chooses(config, trained):
            from unwaver.models.hf_choice import Chooser

            return Chooser(path, shown, identity, multiple_choice=trained is None, **loading)
        from unwaver.models.hf_classifier import Classifier

        return Classifier(path, shown, identity, **loading)
    if method not in (None, "logprob", "generate"):
        raise UsageError(f"unknown method {method}", hint="known for a language model: logprob, generate")
    if kind == "causal":
        from unwaver.models.hf_causal import causal_lm

        language_model: Any = causal_lm
    else:
        from unwaver.models.hf_seq2seq import text_to_text

        language_model = text_to_text
    form = form_of(config, trained, form)
    model = language_model(
        path,
        name=shown,
        identity=identity,
        method=method or ("generate" if form == T5 else "logprob"),
        system=system,
        chat=chat,
        batch_tokens=batch_tokens,
        max_tokens=max_tokens,
        temperature=temperature,
        top_p=top_p,
        seed=seed,
        num_beams=num_beams,
        stop=stop,
        no_repeat_ngram=no_repeat_ngram,
        **loading,
    )
    model.trained, model.form = trained, form
    return cast(Model, model)


def form_of(config: Mapping[str, Any], trained: Trained | None, asked: str | None) -> str:
    """The layout in which a language model reads items: the one asked for, the one it was trained in, or its
    family's own; "" is the task's own."""
    if asked or trained is not None:
        forms = {str(entry["form"]) for entry in trained.tasks.values()} if trained else set()
        return asked or (forms.pop() if len(forms) == 1 else "")
    from unwaver.tasks.t5 import FAMILY

    return T5 if config.get("model_type") in FAMILY else ""


def found(name: str, revision: str | None, trust_remote_code: bool) -> tuple[str, dict[str, Any], str, str]:
    """What transformers loads the model by, its configuration, its identity, and the name that is shown."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        whole = folder.resolve()
        # trained here, all are called seed0, seed1 …
        shown = whole.name if read_trained(folder) is None else f"{whole.parent.name}/{whole.name}"
        return str(folder), read_config(folder), folder_identity(folder), shown
    if hint := absolute_hint("hf", name, ""):
        raise ModelError(f"there is no model folder {name}", hint=hint)
    path, config = find_model(name, revision, trust_remote_code)
    return path, config, f"hub:{name}@{config.get('_commit_hash') or revision or 'main'}", name


def chooses(config: Mapping[str, Any], trained: Trained | None) -> bool:
    """Whether a classifier scores alternatives, one by one, instead of labels."""
    if trained is not None:
        return trained.chooses
    return str((config.get("architectures") or [""])[0]).endswith("ForMultipleChoice")


def kind_of(config: dict[str, Any], name: str) -> str:
    """classifier, bilstm, causal or seq2seq, by architecture: ["BertForSequenceClassification"] -> classifier."""
    named = config.get("architectures")
    architecture = str(named[0]) if isinstance(named, list) and named else ""
    if architecture.endswith(("ForSequenceClassification", "ForMultipleChoice")):
        return "classifier"
    if architecture == BILSTM:
        return "bilstm"
    if config.get("is_encoder_decoder"):
        return "seq2seq"
    if architecture.endswith(("ForCausalLM", "LMHeadModel")):
        return "causal"
    raise ModelError(
        f"{name} is neither a sequence classifier nor a language model (architecture: {architecture or 'none'})",
        hint="unwaver asks …ForSequenceClassification, …ForMultipleChoice, …ForCausalLM and text-to-text models",
    )


_PATHS = "hf/PATH, or hf//PATH for one that begins at /"


def _check(name: str) -> str:
    """What to look at where a path leads nowhere."""
    meant = "" if name.startswith((".", "/", "~")) else f"; for /{name} write hf//{name}"
    return f"check the path{meant}; a hub id is owner/name"


def find_model(
    name: str, revision: str | None = None, trust_remote_code: bool | None = None
) -> tuple[str, dict[str, Any]]:
    """What transformers loads the model by, and its configuration: from the hub, or from the cache without one."""
    if name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise ModelError(f"there is no model folder {name}", hint=_check(name))
    import_torch()
    if silent := _hub_is_silent(name, revision):
        folder = _cached(name, revision, silent)
        return str(folder), {**read_config(folder), "_commit_hash": folder.name}
    try:
        config = pretrained("AutoConfig", name, revision=revision, trust_remote_code=trust_remote_code)
    except (OSError, ValueError) as e:
        raise ModelError(
            f"{name} is not a local folder, and could not be downloaded from the hub: {_first_line(e)}",
            hint=f"give the path of a model folder ({_PATHS}), or check the id",
        ) from e
    return name, {**config.to_dict(), "_commit_hash": getattr(config, "_commit_hash", None)}


def _hub_is_silent(name: str, revision: str | None) -> str | None:
    """Why the hub cannot be asked, None if it can. One try of some seconds: transformers would make six for
    each file, half a minute in which nothing is said."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_url
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    try:
        url = hf_hub_url(name, "config.json", revision=revision)
        get_hf_file_metadata(url, timeout=HUB_SECONDS)
    except HFValidationError as e:
        raise ModelError(f"{name} is neither a folder nor a hub id: {_first_line(e)}", hint="owner/name") from None
    except HfHubHTTPError:  # an answer: what it means, transformers tells
        return None
    except Exception as e:  # of whichever HTTP library the hub's own uses
        return _first_line(e) or type(e).__name__
    return None


def _cached(name: str, revision: str | None, silent: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, revision=revision, local_files_only=True))
    except LocalEntryNotFoundError:
        raise ModelError(
            f"{name} is not a local folder, and the hub cannot be reached: {silent}",
            hint=f"give the path of a model folder ({_PATHS}), or try again with a network",
        ) from None


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0][:200]
