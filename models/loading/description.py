"""A checkpoint's configuration as its task reads it, kept as a file, so that transformers is not needed to answer."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tokenizers
from pydantic import TypeAdapter

from models.decoding.sampling import GenerationSettings
from models.loading import import_looks
from models.tasks.base import Calibration, ModelSettings
from models.text.tokenizer import SlowTokenizer, Tokenizer, TokenizerSettings

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedTokenizerBase

_FILE, _TOKENIZER = "description.json", "tokenizer.json"
_NO_LIMIT = 10**9
_DEFAULT_WINDOW, _LONGEST_WINDOW = 512, 1024
"""Tokens read at once where a checkpoint names no bound, and at most: attention grows with the square of their number.

All heads of 30 layers over 1,024 tokens take a gigabyte, and over the 8,192 that some read, seventy.
"""


@dataclass(frozen=True)
class Description:
    """The description of a checkpoint beside its weights."""

    model: ModelSettings
    generation: GenerationSettings
    tokenizer: TokenizerSettings


def describe(weights: Path) -> tuple[Description, "PreTrainedTokenizerBase"]:
    """The description of the checkpoint in the folder `weights`, and its tokenizer, as transformers reads them."""
    from transformers import AutoConfig, AutoTokenizer, GenerationConfig

    config, tokenizer = AutoConfig.from_pretrained(weights), AutoTokenizer.from_pretrained(weights)
    # Older checkpoints say in their `config` how they write.
    if (weights / "generation_config.json").exists():
        generation = GenerationConfig.from_pretrained(weights)
    else:
        generation = GenerationConfig.from_model_config(config)
    model, settings = _model_settings(config, tokenizer), _tokenizer_settings(tokenizer)
    return Description(model, generation_settings(generation), settings), tokenizer


def save_description(weights: Path, folder: Path) -> None:
    """Write the description of the checkpoint in `weights`, and its tokenizer where `tokenizers` reads it."""
    description, tokenizer = describe(weights)
    (folder / _FILE).write_bytes(TypeAdapter(Description).dump_json(description))
    if description.tokenizer.is_fast:
        tokenizer.backend_tokenizer.save(str(folder / _TOKENIZER), pretty=False)


def load_description(folder: Path, weights: Path) -> tuple[Description, Tokenizer]:
    """Read what `save_description` wrote to `folder`; a tokenizer of transformers is read from `weights`."""
    description = TypeAdapter(Description).validate_json((folder / _FILE).read_bytes())
    settings = description.tokenizer
    if settings.is_fast:
        return description, Tokenizer(settings, tokenizers.Tokenizer.from_file(str(folder / _TOKENIZER)))
    import_looks()
    from transformers import AutoTokenizer

    return description, SlowTokenizer(settings, AutoTokenizer.from_pretrained(weights))


def tokenizer_of(plain: "PreTrainedTokenizerBase") -> Tokenizer:
    """A tokenizer of transformers as tasks use it."""
    settings = _tokenizer_settings(plain)
    return Tokenizer(settings, plain.backend_tokenizer) if settings.is_fast else SlowTokenizer(settings, plain)


def _model_settings(config: "PretrainedConfig", tokenizer: "PreTrainedTokenizerBase") -> ModelSettings:
    # XLNet says -1 for its relative positions.
    positions = int(getattr(config, "max_position_embeddings", 0) or getattr(config, "n_positions", 0) or 0)
    if config.model_type == "roberta":
        # RoBERTa's positions start after its padding id, so that the first ones are never used.
        positions -= config.pad_token_id + 1
    bounds = [bound for bound in (positions, tokenizer.model_max_length or 0) if 0 < bound < _NO_LIMIT]
    return ModelSettings(
        # Where neither names a bound, the page's own holds: it draws up to 512 tokens.
        window=min([*bounds, _LONGEST_WINDOW]) if bounds else _DEFAULT_WINDOW,
        vocabulary=int(getattr(config, "decoder_vocab_size", None) or config.vocab_size),
        labels=tuple(str(name).lower() for name in (config.id2label or {}).values()),
        calibration=Calibration(**(getattr(config, Calibration.KEY, None) or {})),
    )


def _tokenizer_settings(plain: "PreTrainedTokenizerBase") -> TokenizerSettings:
    ids = {f"{name}_token_id": getattr(plain, f"{name}_token_id") for name in ("unk", "bos", "eos", "cls", "pad")}
    mask = plain.mask_token
    return TokenizerSettings(
        special=tuple(plain.all_special_ids),
        mask_token=None if mask is None else str(mask),
        mask_token_id=plain.mask_token_id,
        pad_type_id=int(plain.pad_token_type_id),
        pads_left=plain.padding_side == "left",
        has_types="token_type_ids" in plain.model_input_names,
        is_fast=plain.is_fast,
        **ids,
    )


def generation_settings(config: Any) -> GenerationSettings:
    """The settings in transformers' `GenerationConfig` of a checkpoint."""
    start = config.bos_token_id if config.decoder_start_token_id is None else config.decoder_start_token_id
    return GenerationSettings(
        start_id=start,
        end_ids=_several(config.eos_token_id),
        bad_words_ids=tuple(tuple(word) for word in config.bad_words_ids or ()),
        no_repeat_ngram_size=config.no_repeat_ngram_size or 0,
        forced_bos_id=config.forced_bos_token_id,
        forced_eos_ids=_several(config.forced_eos_token_id),
        renormalize_logits=bool(config.renormalize_logits),
        length_penalty=1.0 if config.length_penalty is None else float(config.length_penalty),
        early_stopping=config.early_stopping or False,
    )


def _several(ids: Any) -> tuple[int, ...]:
    if ids is None:
        return ()
    return tuple(int(each) for each in ids) if isinstance(ids, list | tuple) else (int(ids),)
