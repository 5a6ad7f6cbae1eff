"""Benchmarks of models of published sizes, whose cost is in their matrix products and not in what surrounds them.

Their weights are random, so their answers are nonsense, but their cost is real.
"""

import json
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import torch
from transformers import (
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
    BertForQuestionAnswering,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    MarianConfig,
    MarianMTModel,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import logging as transformers_logging

from benchmarks.baselines import PLAIN, STRATEGIES
from benchmarks.work import Sides, Work, in_turns
from demo.plots.heatmap import attention_heatmap
from demo.plots.view import view_of
from models.engine import DEFAULT_SETTINGS
from models.loading.assembly import wrap
from models.registry import find
from models.tasks.base import AnyTaskModel

# Progress bars would break up the table.
transformers_logging.disable_progress_bar()

COMMON = ("the", "old", "keeper", "went", "up", "to", "a", "lamp", "and", "many", "boats", "came", "home")

SHAPES: dict[str, tuple[type[PreTrainedModel], Any]] = {
    "fill_mask": (BertForMaskedLM, BertConfig()),
    "sentiment": (DistilBertForSequenceClassification, DistilBertConfig()),
    "question_answering": (BertForQuestionAnswering, BertConfig()),
    # The shape of opus-mt-en-fr (Tiedemann & Thottingal, 2020), whose padding token has the last id, ours the first.
    "translation": (MarianMTModel, MarianConfig(
        vocab_size=59_514, decoder_vocab_size=59_514, d_model=512, encoder_layers=6, decoder_layers=6,
        encoder_attention_heads=8, decoder_attention_heads=8, encoder_ffn_dim=2048, decoder_ffn_dim=2048,
        max_position_embeddings=512, activation_function="swish", scale_embedding=True,
        pad_token_id=0, eos_token_id=1, decoder_start_token_id=0, forced_eos_token_id=None,
    )),
    "completion": (GPT2LMHeadModel, GPT2Config(bos_token_id=0, eos_token_id=0)),
}  # fmt: skip
"""BERT base, DistilBERT, BERT base, Opus-MT and GPT-2 small, by the endpoint that they would answer."""


@cache
def _folder(endpoint: str) -> tuple[tempfile.TemporaryDirectory[str], Path]:
    """Save a checkpoint with random weights and a tokenizer; the `TemporaryDirectory` deletes its folder at the end."""
    kept = tempfile.TemporaryDirectory()
    folder = Path(kept.name)
    torch.manual_seed(0)
    kind, config = SHAPES[endpoint]
    kind(config).save_pretrained(folder)
    AutoTokenizer.from_pretrained(find(endpoint).folder).save_pretrained(folder)
    # The tokenizer needs a piece for every id that the network may write.
    file = folder / "tokenizer.json"
    written = json.loads(file.read_text(encoding="utf-8"))
    vocabulary = written["model"]["vocab"]
    vocabulary |= {f"word{number}": number for number in range(len(vocabulary), config.vocab_size)}
    file.write_text(json.dumps(written), encoding="utf-8")
    return kept, folder


def both(endpoint: str) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, AnyTaskModel]:
    """The model as transformers loads it in float32, its tokenizer, and the model as the app would run it."""
    folder = _folder(endpoint)[1]
    network = SHAPES[endpoint][0].from_pretrained(folder, dtype=torch.float32).eval()
    ours = wrap(replace(find(endpoint), base=""), folder, "", DEFAULT_SETTINGS)
    return network, AutoTokenizer.from_pretrained(folder), ours


def text_of(tokenizer: PreTrainedTokenizerBase, tokens: int, start: str = "") -> str:
    """A text that begins with `start` and makes exactly this many tokens, special ones included."""
    text = start or COMMON[0]
    for number in range(2 * tokens):
        longer = f"{text} {COMMON[number % len(COMMON)]}"
        made = len(tokenizer(longer)["input_ids"])
        if made == tokens:
            return longer
        # Where a word of two tokens is too long, a word of one may still fit.
        text = longer if made < tokens else text
    raise ValueError(f"{text!r} never makes {tokens} tokens")


def answering(endpoint: str, tokens: int, field: str = "text", start: str = "", **fields: Any) -> Callable[[], Sides]:
    """Compare the app's model with transformers on a text of `tokens` tokens."""

    def sides() -> Sides:
        network, tokenizer, model = both(endpoint)
        given = fields | {field: text_of(tokenizer, tokens, start)}
        plain = PLAIN[endpoint](network, tokenizer)
        return in_turns(lambda: plain(**given), lambda: model(**given))

    return sides


def attention_drawn() -> Sides:
    """Compare drawing one head of a captured forward pass as a Plotly figure in JSON, as a page needs it."""
    network, tokenizer, model = both("fill_mask")
    network.set_attn_implementation("eager")
    inputs = model.inputs_type(text=text_of(tokenizer, 64, "[MASK]"))

    def plain() -> str:
        encoded = tokenizer(inputs.text, return_tensors="pt")
        with torch.inference_mode():
            weights = network(**encoded, output_attentions=True).attentions[5][0, 3]
        names = tokenizer.convert_ids_to_tokens(encoded["input_ids"][0].tolist())
        return str(go.Figure(go.Heatmap(z=weights.numpy(), x=names, y=names)).to_json())

    return in_turns(plain, lambda: attention_heatmap(view_of(model.attend(inputs), "encoder", 5, 3)).to_json())


def translating() -> Sides:
    """Compare beam search up to the same length, as random weights never end a sentence."""
    network, tokenizer, model = both("translation")
    text = text_of(tokenizer, 20)
    steps = len(model(text=text, num_beams=4).target_tokens)
    options = {"num_beams": 4, "num_return_sequences": 4, "min_new_tokens": steps, "max_new_tokens": steps}
    encoded = tokenizer(text, return_tensors="pt")
    return in_turns(lambda: network.generate(**encoded, **options), lambda: model(text=text, num_beams=4))  # type: ignore[operator]


def completing(strategy: str, new_tokens: int, **options: Any) -> Callable[[], Sides]:
    """Compare writing `new_tokens` tokens after a prompt of 32 tokens."""

    def sides() -> Sides:
        network, tokenizer, model = both("completion")
        prompt = text_of(tokenizer, 32)
        encoded = tokenizer(prompt, return_tensors="pt")
        given = STRATEGIES[strategy] | {"min_new_tokens": new_tokens, "max_new_tokens": new_tokens} | options
        return in_turns(
            lambda: network.generate(**encoded, **given),  # type: ignore[operator]
            lambda: model(prompt=prompt, max_new_tokens=new_tokens, strategy=strategy, seed=1),
        )

    return sides


WORKS = (
    Work("BERT base, fill mask, 64 tokens", "ms", 0.28, answering("fill_mask", 64, start="[MASK]"), runs=21),
    Work("BERT base, attention drawn, 64 tokens", "ms", 0.8, attention_drawn, runs=21),
    Work("DistilBERT, sentiment, 32 tokens", "ms", 0.30, answering("sentiment", 32), runs=21),
    Work("DistilBERT, sentiment, 128 tokens", "ms", 0.42, answering("sentiment", 128), runs=21),
    Work(
        "BERT base, question answering, 384 tokens", "ms", 0.48,
        answering("question_answering", 375, field="context", question="who went up to the lamp"), runs=15,
    ),
    Work("GPT-2 small, greedy, 64 new tokens", "ms", 0.36, completing("greedy", 64), runs=15),
    # The alternatives of each token are recorded on both sides.
    Work(
        "GPT-2 small, sampled, 64 new tokens", "ms", 0.36,
        completing("sample", 64, output_scores=True, return_dict_in_generate=True), runs=15,
    ),
    Work("GPT-2 small, first token", "ms", 1 / 2, completing("greedy", 1), runs=21),
    Work("Opus-MT, translation, 20 tokens, 4 beams", "ms", 0.22, translating, runs=15),
)  # fmt: skip
"""The benchmarks, in the order of the app's tabs."""
