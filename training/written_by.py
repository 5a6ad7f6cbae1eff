"""Train and measure the detector of machine-written text: a logistic regression on the tokens' ranks and bits.

Human texts are parts of books, reviews, articles and news that the completion model was not trained on. Each is cut
after its first sentences; models continue from there, so that both sides are about the same things. The larger model is
the one that writes stories for `stories.py`, here as it was published. The script reads `text/wikipedia_E.txt.xz`,
`text/wikinews.txt.xz` and the texts of `stories.py`.
"""

import json
import random
import re
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerBase

from models.loading.assembly import as_task, wrap
from models.registry import REGISTRY, Task
from models.tasks.surprise import foreseen, read
from models.tasks.written_by import FILE, LEAST_TOKENS, features
from training import stories
from training.bpe import END_OF_TEXT
from training.cards import CHECKPOINTS
from training.text import SENTENCE_END, read_text
from training.text_generation import NAME

OWN, OTHER = "Clearhead Stories", "SmolLM2-135M-Instruct"
WRITERS: dict[str, dict[str, Any]] = {
    f"{OWN}, as in Write on": {"temperature": 0.8, "top_k": 50, "top_p": 0.95},
    f"{OWN}, 10 likeliest": {"top_k": 10},
    f"{OWN}, all tokens": {"top_k": 0},
    OTHER: {"temperature": 0.8, "top_k": 50, "top_p": 0.95},
}
"""The sampling settings of each model that writes; one model may have several."""

UNMET = f"{OTHER}, if unmet"
"""The texts of `OTHER`, judged by a detector that was trained on none of them."""
TEXTS_A_KIND = 192
"""The number of human texts of each kind; each writer continues an equal share of them."""

TEST_SHARE = 0.3
LENGTHS = (25, 50, 100, 200)
"""The lengths that are judged, in tokens of the completion model from the beginning of a text."""

PROMPT_CHARACTERS, TEXT_CHARACTERS = 80, 1200
WRITTEN_TOKENS, WRITTEN_AT_ONCE = 210, 64
SEED = 5
# Gaps in old news, where words that were links were lost.
HOLES = re.compile(r" [,.;]|\b(the|in|of|a|an) (of|in|and|is|was)\b|\(\)|\"\"|&|\b(the|in|of|a|an)[,.]")

Measured = tuple[Sequence[int], Sequence[float]]
"""The ranks and the bits of a text's tokens."""


@dataclass(frozen=True)
class Passage:
    """A prompt and the text after it; `writer` names a model or, if people wrote it, the kind of text."""

    prompt: str
    text: str
    writer: str


def build(data: Path, workdir: Path) -> None:
    """Have the models write, train on most of the texts, measure on the rest and save."""
    folder = workdir / "written-by"
    folder.mkdir(parents=True, exist_ok=True)
    people = {kind: passages(kind, documents) for kind, documents in peoples_texts(data).items()}
    written = {writer: written_by(writer, place, people, folder) for place, writer in enumerate(WRITERS)}

    measure = measurer()
    texts = {name: [measure(each.text) for each in found] for name, found in (people | written).items()}
    kept_out = {name: found[: round(TEST_SHARE * len(found))] for name, found in texts.items()}
    learned = {name: found[len(kept_out[name]) :] for name, found in texts.items()}

    detector = fitted(learned, people)
    unmet = fitted({name: found for name, found in learned.items() if name != OTHER}, people)
    figures = []
    for length in LENGTHS:
        called = shares_called(detector, kept_out, length)
        alarms, found = (mean(called[name] for name in names if name in called) for names in (people, written))
        called[UNMET] = shares_called(unmet, {OTHER: kept_out[OTHER]}, length).get(OTHER, 0.0)
        accuracy = round((1 - alarms + found) / 2, 3)
        figures.append({"tokens": length, "false_alarms": alarms, "accuracy": accuracy, "called": called})
        print(json.dumps(figures[-1]), flush=True)
    typical = {
        name: np.mean([features(*each) for kind in kinds for each in learned[kind]], axis=0).round(4).tolist()
        for name, kinds in (("people", people), ("model", [writer for writer in written if writer != OTHER]))
    }
    asset = {
        "checkpoint": NAME,
        "coefficients": detector.coef_[0].round(4).tolist(),
        "intercept": round(float(detector.intercept_[0]), 4),
        "typical": typical,
        "figures": figures,
    }
    FILE.write_text(json.dumps(asset, indent=1) + "\n", encoding="utf-8")


def peoples_texts(data: Path) -> dict[str, list[str]]:
    """Human documents that the completion model was not trained on, by their kind."""
    books, reviews = stories.kept_out(stories.read_books(data), stories.read_reviews(data))
    articles, news = (read_text(data / f"text/{name}.txt.xz").split("\n\n") for name in ("wikipedia_E", "wikinews"))
    return {
        "children’s books": [passage for book in books for passage in stories.passages(book)],
        "film reviews": reviews,
        "encyclopedia": [each.partition("\n")[2] for each in articles],
        "news": [each.partition("\n")[2] for each in news if not HOLES.search(each)],
    }


def passages(kind: str, documents: list[str]) -> list[Passage]:
    """At most `TEXTS_A_KIND` passages from the beginnings of documents that are long enough, cut after a sentence."""
    found: list[Passage] = []
    random.Random(SEED).shuffle(documents)
    for document in map(stories.prose, documents):
        cut = next((end for end in SENTENCE_END.finditer(document) if end.start() >= PROMPT_CHARACTERS), None)
        if cut and len(document) - cut.end() >= TEXT_CHARACTERS // 2:
            text = document[cut.end() : cut.end() + TEXT_CHARACTERS]
            found.append(Passage(document[: cut.end()].rstrip(), text, kind))
        if len(found) == TEXTS_A_KIND:
            break
    return found


def written_by(writer: str, place: int, people: dict[str, list[Passage]], folder: Path) -> list[Passage]:
    """The passages that `writer` writes for its share of the prompts, read from `folder` if they are there."""
    file = folder / f"writer-{place}.json"
    if not file.exists():
        prompts = [each.prompt for found in people.values() for each in found[place :: len(WRITERS)]]
        random.Random(SEED).shuffle(prompts)
        model: Any
        tokenizer: PreTrainedTokenizerBase
        if writer == OTHER:
            model, tokenizer = stories.published_writer()
        else:
            model = AutoModelForCausalLM.from_pretrained(CHECKPOINTS / NAME, dtype=torch.float32)
            tokenizer = AutoTokenizer.from_pretrained(CHECKPOINTS / NAME)
        torch.manual_seed(SEED + place)
        starts = range(0, len(prompts), WRITTEN_AT_ONCE)
        batches = [prompts[start : start + WRITTEN_AT_ONCE] for start in starts]
        texts = [text for batch in batches for text in continued(model, tokenizer, batch, WRITERS[writer])]
        pairs = [
            [prompt, text] for prompt, text in zip(prompts, texts, strict=True) if len(text.split()) > LEAST_TOKENS
        ]
        file.write_text(json.dumps(pairs), encoding="utf-8")
    return [Passage(prompt, text, writer) for prompt, text in json.loads(file.read_text(encoding="utf-8"))]


@torch.inference_mode()
def continued(
    model: Any, tokenizer: PreTrainedTokenizerBase, prompts: list[str], sampling: dict[str, Any]
) -> list[str]:
    """The text that the model writes after each prompt, up to its end-of-text token."""
    inputs = tokenizer(prompts, return_tensors="pt", padding=True, padding_side="left", return_token_type_ids=False)
    end = tokenizer.get_vocab()[END_OF_TEXT]
    settings = {"temperature": 1.0, "top_k": 0, "top_p": 1.0} | sampling
    ids = model.generate(
        **inputs, do_sample=True, max_new_tokens=WRITTEN_TOKENS, eos_token_id=end, pad_token_id=end, **settings
    )
    print(f"{len(ids)} texts written", flush=True)
    return [str(tokenizer.decode(each[inputs.input_ids.shape[1] :], skip_special_tokens=True)).strip() for each in ids]


def measurer() -> Callable[[str], Measured]:
    """Return a function that computes a text's ranks and bits with the completion model, as for visitors."""
    model = as_task(wrap(REGISTRY[NAME], CHECKPOINTS / NAME, ""), Task.WRITTEN_BY)

    def measure(text: str) -> Measured:
        found = foreseen(model, read(model, text, "text", "The text").tokens[: LENGTHS[-1] + 1])
        return [each.rank for each in found], [each.bits for each in found]

    return measure


def fitted(texts: dict[str, list[Measured]], people: Container[str]) -> LogisticRegression:
    """Fit the regression on the beginnings of all texts; human and machine-written ones weigh the same in total."""
    rows, labels = [], []
    for name, found in texts.items():
        for length in LENGTHS:
            shares = beginnings(found, length)
            rows += shares
            labels += [name not in people] * len(shares)
    return LogisticRegression(class_weight="balanced", max_iter=1000).fit(np.array(rows), labels)


def beginnings(texts: list[Measured], length: int) -> list[NDArray[np.float64]]:
    """The features of the first `length` tokens of each text that has as many."""
    return [features(ranks[:length], bits[:length]) for ranks, bits in texts if len(ranks) >= length]


def shares_called(detector: LogisticRegression, texts: dict[str, list[Measured]], length: int) -> dict[str, float]:
    """For each writer the share of its texts that `detector` calls machine-written."""
    rows = {name: beginnings(found, length) for name, found in texts.items()}
    return {name: round(float(detector.predict(np.array(found)).mean()), 3) for name, found in rows.items() if found}


def mean(shares: Iterable[float]) -> float:
    """The unweighted mean of the shares of all kinds or writers."""
    return round(float(np.mean(list(shares))), 3)
