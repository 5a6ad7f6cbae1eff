"""The baselines: each task as a user of plain transformers would write it, and a plain Gradio app of them.

`python -m benchmarks.baselines` serves the app, with Gradio's defaults.
"""

from collections.abc import Callable
from typing import Any

import gradio as gr
import torch
from transformers import AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase, pipeline

from benchmarks.visitors import INPUTS, TYPED
from models.loading.assembly import load_network
from models.loading.prepared import trunk_of
from models.registry import Checkpoint, find

Plain = Callable[..., object]


def fill_mask(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> Plain:
    """Return `pipeline("fill-mask")`."""
    pipe: Plain = pipeline("fill-mask", model=network, tokenizer=tokenizer)  # type: ignore[call-overload]
    return lambda text: pipe(text)


def sentiment(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> Plain:
    """Return `pipeline("text-classification")` with the probabilities of all labels."""
    pipe: Plain = pipeline("text-classification", model=network, tokenizer=tokenizer, top_k=None)  # type: ignore[call-overload]
    return lambda text: pipe(text)


def question_answering(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> Plain:
    """Return a function that finds the three likeliest spans over overlapping windows, as in transformers' examples.

    transformers 5 has no pipeline for it.
    """

    def answer(question: str, context: str) -> list[str]:
        encoded = tokenizer(
            question,
            context,
            truncation="only_second",
            max_length=384,
            stride=128,
            padding=True,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            return_tensors="pt",
        )
        offsets = encoded.pop("offset_mapping")
        encoded.pop("overflow_to_sample_mapping")
        with torch.no_grad():
            output = network(**encoded)
        found: list[tuple[float, str]] = []
        for row, places in enumerate(offsets.tolist()):
            outside = torch.tensor([side != 1 for side in encoded.sequence_ids(row)])
            starts = output.start_logits[row].masked_fill(outside, -1e9).softmax(-1)
            ends = output.end_logits[row].masked_fill(outside, -1e9).softmax(-1)
            best = torch.outer(starts, ends).triu().tril(29).flatten().topk(3)
            for score, place in zip(best.values.tolist(), best.indices.tolist(), strict=True):
                start, end = divmod(place, len(places))
                found.append((score, context[places[start][0] : places[end][1]]))
        return [text for _, text in sorted(found, reverse=True)[:3]]

    return answer


def names(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> Plain:
    """Return `pipeline("token-classification")`, which labels a word by its first piece."""
    pipe: Plain = pipeline("token-classification", model=network, tokenizer=tokenizer, aggregation_strategy="first")  # type: ignore[call-overload]
    return lambda text: pipe(text)


def sentence_pair(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> Plain:
    """Return a function for the softmax over each label group and the cosine of both mean last hidden states."""

    def compare(a: str, b: str) -> list[float]:
        alone = tokenizer([a, b], padding=True, return_tensors="pt")
        with torch.no_grad():
            logits = network(**tokenizer(a, b, return_tensors="pt")).logits[0]
            hidden = network(**alone, output_hidden_states=True).hidden_states[-1]
        mask = alone["attention_mask"][:, :, None]
        one, other = (hidden * mask).sum(1) / mask.sum(1)
        shares = [logits[group].softmax(-1) for group in (slice(0, 2), slice(2, 5), slice(5, 7))]
        return [*torch.cat(shares).tolist(), float(torch.cosine_similarity(one, other, dim=0))]

    return compare


def translation(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> Plain:
    """Return a function that translates by `generate` with four beams."""

    def translate(text: str) -> list[str]:
        written = network.generate(  # type: ignore[operator]
            **tokenizer(text, return_tensors="pt"), num_beams=4, num_return_sequences=4, max_new_tokens=64
        )
        return list(tokenizer.batch_decode(written, skip_special_tokens=True))

    return translate


STRATEGIES: dict[str, dict[str, Any]] = {
    "sample": {"do_sample": True, "temperature": 0.8, "top_k": 50, "top_p": 0.95},
    "greedy": {"do_sample": False},
    "beam": {"do_sample": False, "num_beams": 4, "num_return_sequences": 4},
}
"""The demo's default settings of each strategy, as arguments of `generate`."""


def completion(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> Plain:
    """Return a function that continues a prompt by `generate` with the demo's default settings."""

    def write_on(prompt: str, max_new_tokens: int, seed: int, strategy: str = "sample") -> str:
        torch.manual_seed(seed)
        encoded = tokenizer(prompt, return_tensors="pt")
        written = network.generate(**encoded, max_new_tokens=max_new_tokens, **STRATEGIES[strategy])  # type: ignore[operator]
        return str(tokenizer.decode(written[0], skip_special_tokens=True))

    return write_on


PLAIN: dict[str, Callable[[PreTrainedModel, PreTrainedTokenizerBase], Plain]] = {
    "fill_mask": fill_mask,
    "sentiment": sentiment,
    "question_answering": question_answering,
    "names": names,
    "sentence_pair": sentence_pair,
    "translation": translation,
    "completion": completion,
}
"""The baseline of each task, by the name of its endpoint."""


def plain(checkpoint: Checkpoint) -> Plain:
    """The baseline of a bundled checkpoint's task, with its network and tokenizer as transformers loads them."""
    tokenizer = AutoTokenizer.from_pretrained(checkpoint.folder)
    network = load_network(checkpoint.task, checkpoint.folder, trunk_of(checkpoint))
    return PLAIN[checkpoint.task.endpoint](network, tokenizer)


def page() -> gr.Blocks:
    """The plain Gradio app: text boxes and a button for each task, whose endpoint has the task's name."""
    blocks = gr.Blocks()
    with blocks:
        for task in PLAIN:
            add_task(task)
    return blocks


def add_task(task: str) -> None:
    """Add the task's text boxes, button and endpoint to the open `gr.Blocks`."""
    typed, answer = [name for name in INPUTS[task] if name in TYPED], plain(find(task))

    def run(*texts: str) -> dict[str, object]:
        return {"answer": answer(**INPUTS[task] | dict(zip(typed, texts, strict=True)))}

    gr.Button(task).click(run, [gr.Textbox(label=name) for name in typed], gr.JSON(), api_name=task)


if __name__ == "__main__":
    page().launch(quiet=True)
