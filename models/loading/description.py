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
"""The window in tokens where a checkpoint names no bound, and the longest: attention grows with its square.

The attention of all heads of 30 layers over 1,024 tokens takes a gigabyte, over the 8,192 that some read, seventy.
"""


@dataclass(frozen=True)
class Description:
    """The settings of a checkpoint that are needed to answer, besides its weights."""

    model: ModelSettings
    generation: GenerationSettings
    tokenizer: TokenizerSettings


def describe(weights: Path) -> tuple[Description, "PreTrainedTokenizerBase"]:
    """Read the description of the checkpoint in the folder `weights`, and its tokenizer, with transformers."""
    from transformers import AutoConfig, AutoTokenizer, GenerationConfig

    config, tokenizer = AutoConfig.from_pretrained(weights), AutoTokenizer.from_pretrained(weights)
    # Older checkpoints have their generation settings in `config.json`.
    if (weights / "generation_config.json").exists():
        generation = GenerationConfig.from_pretrained(weights)
    else:
        generation = GenerationConfig.from_model_config(config)
    model, settings = _model_settings(config, tokenizer), _tokenizer_settings(tokenizer)
    return Description(model, generation_settings(generation), settings), tokenizer


def save_description(weights: Path, folder: Path) -> None:
    """Write to `folder` the description of the checkpoint in `weights`, and its tokenizer if `tokenizers` reads it."""
    description, tokenizer = describe(weights)
    (folder / _FILE).write_bytes(TypeAdapter(Description).dump_json(description))
    if description.tokenizer.is_fast:
        tokenizer.backend_tokenizer.save(str(folder / _TOKENIZER), pretty=False)


def load_description(folder: Path, weights: Path) -> tuple[Description, Tokenizer]:
    """Read what `save_description` wrote to `folder`; a slow tokenizer is read from `weights` by transformers."""
    description = TypeAdapter(Description).validate_json((folder / _FILE).read_bytes())
    settings = description.tokenizer
    if settings.is_fast:
        return description, Tokenizer(settings, tokenizers.Tokenizer.from_file(str(folder / _TOKENIZER)))
    import_looks()
    from transformers import AutoTokenizer

    return description, SlowTokenizer(settings, AutoTokenizer.from_pretrained(weights))


def tokenizer_of(plain: "PreTrainedTokenizerBase") -> Tokenizer:
    """Wrap a tokenizer of transformers for the tasks."""
    settings = _tokenizer_settings(plain)
    return Tokenizer(settings, plain.backend_tokenizer) if settings.is_fast else SlowTokenizer(settings, plain)


def _model_settings(config: "PretrainedConfig", tokenizer: "PreTrainedTokenizerBase") -> ModelSettings:
    # XLNet has relative positions, for which it says -1.
    positions = int(getattr(config, "max_position_embeddings", 0) or getattr(config, "n_positions", 0) or 0)
    if config.model_type == "roberta":
        # RoBERTa's positions start after its padding id, so that the first ones are never used.
        positions -= config.pad_token_id + 1
    bounds = [bound for bound in (positions, tokenizer.model_max_length or 0) if 0 < bound < _NO_LIMIT]
    return ModelSettings(
        # The default is the bound of the page, which draws up to 512 tokens.
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
    """The generation settings in a checkpoint's `GenerationConfig` of transformers."""
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
