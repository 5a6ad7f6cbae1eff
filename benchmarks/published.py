"""Rows for models of the published shapes, whose cost is in their matrices and not in what surrounds them."""

from collections.abc import Callable
from typing import Any, cast

import plotly.graph_objects as go
import torch
from torch import Tensor

from benchmarks import shapes
from benchmarks.plain_transformers import PLAIN
from benchmarks.work import Sides, Work, in_turns
from demo.plots.heatmap import attention_heatmap
from demo.plots.view import view_of
from models.tasks.text_generation import TextGeneration, TextGenerationInput

PROMPT_TOKENS, NEW_TOKENS = 32, 64


def answering(endpoint: str, tokens: int, field: str = "text", start: str = "", **fields: Any) -> Callable[[], Sides]:
    """The page's model against transformers' own, on a text of this many tokens."""

    def sides() -> Sides:
        network, tokenizer = shapes.plain(endpoint)
        given = fields | {field: shapes.text_of(tokenizer, tokens, start)}
        plain, model = PLAIN[endpoint](network, tokenizer), shapes.ours(endpoint)
        return in_turns(lambda: plain(**given), lambda: model(**given))

    return sides


def attention_drawn() -> Sides:
    """One head of a captured forward pass as a figure in JSON, as a page needs it."""
    network, tokenizer = shapes.plain("fill_mask")
    network.set_attn_implementation("eager")
    model = shapes.ours("fill_mask")
    inputs = model.inputs_type(text=shapes.text_of(tokenizer, 64, "[MASK]"))

    def plain() -> str:
        encoded = tokenizer(inputs.text, return_tensors="pt")
        with torch.inference_mode():
            weights = network(**encoded, output_attentions=True).attentions[5][0, 3]
        names = tokenizer.convert_ids_to_tokens(encoded["input_ids"][0].tolist())
        return str(go.Figure(go.Heatmap(z=weights.numpy(), x=names, y=names)).to_json())

    def ours() -> str:
        with torch.inference_mode():
            return str(attention_heatmap(view_of(model.attend(inputs), "encoder", 5, 3)).to_json())

    return in_turns(plain, ours)


def translating() -> Sides:
    """Beam search to the same length: random weights never end a sentence."""
    network, tokenizer = shapes.plain("translation")
    model = shapes.ours("translation")
    text = shapes.text_of(tokenizer, 20)
    steps = len(model(text=text, num_beams=4).target_tokens)
    encoded = tokenizer(text, return_tensors="pt")

    def plain() -> Tensor:
        written: Tensor = network.generate(  # type: ignore[operator]
            **encoded, num_beams=4, num_return_sequences=4, min_new_tokens=steps, max_new_tokens=steps
        )
        return written

    return in_turns(plain, lambda: model(text=text, num_beams=4))


def completing(strategy: str) -> Callable[[], Sides]:
    """64 tokens, the alternatives of each recorded on both sides where they are sampled."""

    def sides() -> Sides:
        network, tokenizer = shapes.plain("completion")
        model = shapes.ours("completion")
        prompt = shapes.text_of(tokenizer, PROMPT_TOKENS)
        encoded = tokenizer(prompt, return_tensors="pt")
        settings = {"do_sample": False} if strategy == "greedy" else {
            "do_sample": True, "temperature": 0.8, "top_k": 50, "top_p": 0.95, "output_scores": True,
            "return_dict_in_generate": True,
        }  # fmt: skip

        def plain() -> object:
            lengths = {"min_new_tokens": NEW_TOKENS, "max_new_tokens": NEW_TOKENS}
            return network.generate(**encoded, **lengths, **settings)  # type: ignore[operator]

        return in_turns(plain, lambda: model(prompt=prompt, max_new_tokens=NEW_TOKENS, strategy=strategy, seed=1))

    return sides


def first_token() -> Sides:
    """From the prompt to the first token, as the page shows it."""
    network, tokenizer = shapes.plain("completion")
    model = cast(TextGeneration, shapes.ours("completion"))
    prompt = shapes.text_of(tokenizer, PROMPT_TOKENS)
    inputs = TextGenerationInput(prompt=prompt, max_new_tokens=NEW_TOKENS, strategy="greedy")
    encoded = tokenizer(prompt, return_tensors="pt")

    def plain() -> object:
        return network.generate(**encoded, max_new_tokens=1, do_sample=False)  # type: ignore[operator]

    return in_turns(plain, lambda: next(model.stream(inputs)))


WORKS = (
    Work("BERT base, fill mask, 64 tokens", "ms", 0.28, answering("fill_mask", 64, start="[MASK]"), runs=21),
    Work("BERT base, attention drawn, 64 tokens", "ms", 0.8, attention_drawn, runs=21),
    Work("DistilBERT, sentiment, 32 tokens", "ms", 0.30, answering("sentiment", 32), runs=21),
    Work("DistilBERT, sentiment, 128 tokens", "ms", 0.42, answering("sentiment", 128), runs=21),
    Work(
        "BERT base, question answering, 384 tokens", "ms", 0.48,
        answering("question_answering", 375, field="context", question="who went up to the lamp"), runs=15,
    ),
    Work("GPT-2 small, greedy, 64 new tokens", "ms", 0.36, completing("greedy"), runs=15),
    Work("GPT-2 small, sampled, 64 new tokens", "ms", 0.36, completing("sample"), runs=15),
    Work("GPT-2 small, first token", "ms", 1 / 2, first_token, runs=21),
    Work("Opus-MT, translation, 20 tokens, 4 beams", "ms", 0.22, translating, runs=15),
)  # fmt: skip
"""In the order of the tabs."""
