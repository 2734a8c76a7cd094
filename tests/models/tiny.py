"""Tiny random language models with real tokenizers, saved as folders, and the slow way to score with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

SIZES: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 96,
    "initializer_range": 0.4,  # far from uniform predictions, so that a mistake shows
}


def tokenizer(*, bos: bool = False, chat: str | None = None, eos_after: bool = False) -> Any:
    """Bytes as tokens, and a few that grow together: " a", "ab", " no"."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("Ġ", "a"), ("a", "b"), ("n", "o"), ("Ġ", "no")]
    pieces = ["<s>", "</s>", *alphabet, *("".join(m) for m in merges)]
    fast = Tokenizer(models.BPE({p: i for i, p in enumerate(pieces)}, merges))
    fast.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    fast.decoder = decoders.ByteLevel()
    if bos or eos_after:
        single = ("<s> " if bos else "") + "$A" + (" </s>" if eos_after else "")
        specials = [("<s>", 0), ("</s>", 1)]
        fast.post_processor = processors.TemplateProcessing(single=single, special_tokens=specials)
    made = PreTrainedTokenizerFast(
        tokenizer_object=fast, bos_token="<s>", eos_token="</s>", pad_token="</s>", model_max_length=96
    )
    made.chat_template = chat
    return made


def config(family: str, vocabulary: int) -> Any:
    import transformers as t

    size = {**SIZES, "vocab_size": vocabulary, "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1}
    if family == "gpt2":
        gpt2 = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 96, "initializer_range": 0.4}
        return t.GPT2Config(vocab_size=vocabulary, bos_token_id=0, eos_token_id=1, **gpt2)
    if family == "gemma2":  # layers that look back eight tokens only, capped logits
        return t.Gemma2Config(
            **size, sliding_window=8, num_key_value_heads=2, head_dim=8, final_logit_softcapping=5.0
        )
    if family == "gpt_neo":  # every second layer looks back 32 places of the row, whatever the positions say
        neo = {"hidden_size": 32, "num_layers": 2, "num_heads": 4, "max_position_embeddings": 96}
        kinds = [[["global", "local"], 1]]
        return t.GPTNeoConfig(
            vocab_size=vocabulary, **neo, attention_types=kinds, window_size=32, initializer_range=0.4
        )
    if family == "mistral":
        return t.MistralConfig(**size, sliding_window=8, num_key_value_heads=2)
    if family == "neox":
        return t.GPTNeoXConfig(**size, rotary_pct=0.5)
    if family == "qwen3":
        return t.Qwen3Config(**size, num_key_value_heads=2, head_dim=8)
    if family == "bloom":  # positions by a slope over distance, none that one could give
        return t.BloomConfig(vocab_size=vocabulary, hidden_size=32, n_layer=2, n_head=4, initializer_range=0.4)
    if family == "mamba":  # a running state in place of keys and values
        return t.MambaConfig(vocab_size=vocabulary, hidden_size=32, num_hidden_layers=2, state_size=4)
    if family == "granite":  # logits divided by a constant
        return t.GraniteConfig(**size, num_key_value_heads=2, logits_scaling=3.0)
    return t.LlamaConfig(**size, num_key_value_heads=2)


def model(family: str, vocabulary: int = 262) -> Any:
    import torch
    from transformers import AutoModelForCausalLM

    torch.manual_seed(0)
    return AutoModelForCausalLM.from_config(config(family, vocabulary)).float().eval()


def saved(folder: Path, family: str = "llama", **options: Any) -> str:
    made = tokenizer(**options)
    model(family, len(made)).save_pretrained(folder)
    made.save_pretrained(folder)
    return str(folder)


def slow_logprob(lm: Any, context: tuple[int, ...], continuation: tuple[int, ...]) -> float:
    """One sequence, one forward, all logits: nothing to get wrong."""
    import torch

    with torch.inference_mode():
        logits = lm(torch.tensor([[*context, *continuation]]), use_cache=False).logits[0].double()
    told = logits.log_softmax(-1)
    return sum(float(told[len(context) - 1 + i, token]) for i, token in enumerate(continuation))
