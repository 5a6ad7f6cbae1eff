"""Train two character language models, of prose and of Python source, and find what single cells track.

After Karpathy, Johnson and Fei-Fei (2015): an LSTM reads a text character by character and predicts the next one. On
held-out text, its cells are then correlated with signals computed from the text, such as whether a quotation is open;
the cell that correlates most with a signal is named after it.
"""

import json
import platform
import random
import re
import sysconfig
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional

from models.before import characters
from models.before.characters import ALPHABET, CODE, PROSE, as_read, ids_of
from models.loading.prepared import sha256_of
from models.outputs.base import softmax
from training import stories
from training.cards import commit
from training.loop import Batch, Plan, train

NAME = "characters"
WIDTH, CELLS = 64, 400
"""The width of a character's embedding, and the number of the LSTM's cells."""

ROWS, WINDOW = 32, 100
"""Texts read in parallel, and the characters of a window of truncated backpropagation through time."""

STAGES, RATE = {PROSE: (1_800, 2_600), CODE: (1_800,)}, 3e-3
"""The steps of each stage; the rate rises and falls anew in each (warm restarts; Loshchilov and Hutter, 2017)."""

TRAINING_CHARACTERS, KEPT_OUT_CHARACTERS = 12_000_000, 200_000
LEAST = 0.5
"""The least absolute correlation that names a cell."""

SEED = 7
Signal = NDArray[np.float64]
"""A number for each character of a text, as it is after that character."""


class CharacterModel(nn.Module):
    """The LSTM. Its state, `carried` `[2, row, cell]`, passes from one window to the next, without its gradient."""

    carried: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.vectors = nn.Embedding(len(ALPHABET) + 1, WIDTH)
        self.cell = nn.LSTM(WIDTH, CELLS, batch_first=True)
        self.guess = nn.Linear(CELLS, len(ALPHABET) + 1)
        # A forget gate that begins open lets a cell learn long memory sooner (Jozefowicz et al., 2015).
        nn.init.ones_(self.cell.get_parameter("bias_ih_l0")[CELLS : 2 * CELLS])
        self.register_buffer("carried", torch.zeros(2, ROWS, CELLS))

    def forward(self, ids: Tensor) -> Tensor:
        """The logits `[row, character, alphabet]` of the character after each of `ids` `[row, character]`."""
        states, after = self.cell(self.vectors(ids), tuple(each[None] for each in self.carried))
        self.carried = torch.cat(after).detach()
        logits: Tensor = self.guess(states)
        return logits


def read_books(data: Path) -> tuple[list[str], list[str]]:
    """The books to train on, and passages of the held-out books."""
    books = {title: stories.prose(body) for title, body in stories.read_books(data).items()}
    kept_out = [passage for title in stories.KEPT_OUT_BOOKS for passage in stories.passages(books.pop(title))]
    return list(books.values()), kept_out


def read_source(library: Path) -> tuple[list[str], list[str]]:
    """The modules of Python's standard library, without its tests, to train on, and one in twenty of them held out."""
    files = sorted(file for file in library.rglob("*.py") if not _LEFT_OUT & {*file.relative_to(library).parts})
    random.Random(SEED).shuffle(files)
    kept_out = max(1, len(files) // 20)
    # Encodings are tables, which say little about how Python is written.
    unseen = [file for file in files[:kept_out] if "encodings" not in file.parts]
    return [read_module(file) for file in files[kept_out:]], [read_module(file) for file in unseen]


def read_module(file: Path) -> str:
    """The source of a module; bytes that are not UTF-8 become replacement characters."""
    return file.read_text(encoding="utf-8", errors="replace")


_LEFT_OUT = {"site-packages", "test", "tests", "idle_test"}


def stream_of(documents: list[str], model: str, most: int) -> str:
    """At most `most` characters of the documents, shuffled and joined, as the model reads them."""
    random.Random(SEED).shuffle(documents)
    return as_read("\n\n\n".join(documents)[:most], model)


def windows(ids: Tensor, before: int, step: int) -> Iterator[Batch]:
    """Endless windows of ids `[ROWS, WINDOW + 1]` from the step `before + step` on; rows begin again at their end."""
    rows = ids[: len(ids) // ROWS * ROWS].view(ROWS, -1)
    count = (rows.shape[1] - 1) // WINDOW
    while True:
        first = (before + step) % count * WINDOW
        yield {"ids": rows[:, first : first + WINDOW + 1].long()}
        step += 1


def loss_of(model: CharacterModel, batch: Batch) -> Tensor:
    """Cross-entropy of the next character."""
    ids = batch["ids"]
    return functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())


def signals_of(read: str, model: str) -> dict[str, Signal]:
    """The signals that a cell may track, by name, in a text as the model reads it."""
    found = {
        "position in the word": since(read, lambda each: not each.isalnum()),
        "position in the line": since(read, lambda each: each == "\n"),
    }
    if model == PROSE:
        quotes = np.array([each == '"' for each in read])
        # A quotation that is not closed ends with its paragraph.
        paragraphs = np.cumsum([read[place : place + 2] == "\n\n" for place in range(len(read))])
        found["inside quotation marks"] = np.concatenate(
            [np.cumsum(quotes[paragraphs == each]) % 2 for each in range(paragraphs[-1] + 1)]
        ).astype(float)
        found["position in the sentence"] = since(read, lambda each: each in ".!?")
        found["inside brackets"] = np.cumsum([(each == "(") - (each == ")") for each in read]).clip(0, 1).astype(float)
        return found
    found |= {name: np.zeros(len(read)) for name in ("inside a string", "inside a comment", "depth of brackets")}
    for token in _TOKEN.finditer(read):
        start, end = token.span()
        if token[0][0] in "\"'":
            found["inside a string"][start : end - 1] = 1
        elif token[0][0] == "#":
            found["inside a comment"][start:end] = 1
        else:
            found["depth of brackets"][start:] += 1 if token[0] in "([{" else -1
    indentation = list[float]()
    for line in read.split("\n"):
        spaces = len(line) - len(line.lstrip(" "))
        # After the line break, the next line has no indentation yet.
        indentation += [float(min(place, spaces)) for place in range(1, len(line) + 1)] + [0.0]
    found["indentation"] = np.array(indentation[: len(read)])
    return found


_TOKEN = re.compile(r"""(\"{3}|'{3})(?:\\.|[^\\])*?\1|(["'])(?:\\.|(?!\2)[^\\\n])*\2|\#[^\n]*|[()\[\]{}]""", re.DOTALL)
"""Matches a string, a comment or a bracket of Python."""


def since(read: str, ends: Callable[[str], bool]) -> Signal:
    """For each character, the number of characters since the last one for which `ends` is true."""
    counts, count = [], 0
    for each in read:
        count = 0 if ends(each) else count + 1
        counts.append(float(count))
    return np.array(counts)


def correlations(cells: NDArray[np.float32], signal: Signal) -> Signal:
    """Pearson's correlation of each of `cells` `[character, cell]` with the signal; 0 where one of them is constant."""
    states, signal = cells - cells.mean(axis=0), signal - signal.mean()
    spread = np.sqrt((states**2).sum(axis=0) * (signal**2).sum())
    products: Signal = signal @ states
    return np.asarray(np.divide(products, spread, out=np.zeros(len(spread)), where=spread > 0))


def measured(model: str, kept_out: list[str]) -> dict[str, Any]:
    """Bits per character and the cells that can be named, on held-out text, computed as for visitors.

    For each signal, the cell is chosen on the first half of that text, and its correlation measured on the second.
    """
    read = stream_of(kept_out, model, KEPT_OUT_CHARACTERS)
    read = read[: len(read) // ROWS * ROWS]
    network = characters.load(model, characters.FOLDER)
    # Read as `ROWS` texts side by side, which is quicker.
    ids = ids_of(read).reshape(ROWS, -1).T
    states, logits = network.read(ids)
    cells = states.swapaxes(0, 1).reshape(len(read), -1)
    likely = np.take_along_axis(softmax(logits[:-1]), ids[1:, :, None], axis=-1)
    half, named, nameable = len(read) // 2, [], np.zeros(network.cells, bool)
    signals = signals_of(read, model)
    for watches, signal in signals.items():
        chosen = int(np.abs(correlations(cells[:half], signal[:half])).argmax())
        found = correlations(cells[half:], signal[half:])
        nameable |= np.abs(found) >= LEAST
        print(watches, chosen, round(found[chosen], 3), flush=True)
        if abs(found[chosen]) >= LEAST:
            named.append({"cell": chosen, "watches": watches, "correlation": round(float(found[chosen]), 3)})
    return {
        "bits_per_character": round(float(-np.log2(likely).mean()), 3),
        "cells": network.cells,
        "nameable": int(nameable.sum()),
        "least": LEAST,
        "signals": list(signals),
        # An open quotation or bracket tells more than a count of characters, so these come first.
        "named": sorted(named, key=lambda each: each["watches"].startswith("position")),
    }


def build(data: Path, workdir: Path) -> None:
    """Train both models, measure them, name their cells and write their card."""
    characters.FOLDER.mkdir(parents=True, exist_ok=True)
    found = {}
    for name, stages in STAGES.items():
        library = Path(sysconfig.get_path("stdlib"))
        learned, kept_out = read_books(data) if name == PROSE else read_source(library)
        torch.manual_seed(SEED)
        model = CharacterModel()
        ids = torch.from_numpy(ids_of(stream_of(learned, name, TRAINING_CHARACTERS))).to(torch.uint8)
        for stage, steps in enumerate(stages):
            plan = Plan(steps=steps, warmup_steps=steps // 20, workdir=workdir / NAME / f"{name}-{stage}")
            optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
            train(model, [optimizer], partial(windows, ids, sum(stages[:stage])), loss_of, plan)
        weights = {key: each.half() for key, each in model.state_dict().items() if key != "carried"}
        save_file(weights, characters.file_of(name, characters.FOLDER))
        characters.load.cache_clear()
        found[name] = measured(name, kept_out)
    (characters.FOLDER / characters.FIGURES).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (characters.FOLDER / "README.md").write_text(card(found), encoding="utf-8")


def card(found: dict[str, Any]) -> str:
    """The model card, in Markdown."""
    rows = "\n".join(
        f"| {name} | {each['cell']} | {each['watches']} | {each['correlation']:.2f} |"
        for name, figures in found.items()
        for each in figures["named"]
    )
    bits = "\n".join(
        f"| {name} | {figures['bits_per_character']:.2f} | {figures['nameable']} of {figures['cells']} |"
        for name, figures in found.items()
    )
    digests = "\n".join(
        f"- `{name}.safetensors`: sha256 `{sha256_of(characters.file_of(name, characters.FOLDER))}`" for name in found
    )
    return _CARD.format(
        most=TRAINING_CHARACTERS,
        python=platform.python_version(),
        commit=commit(),
        seen=" and ".join(f"{sum(stages) * ROWS * WINDOW / 1e6:.1f}" for stages in STAGES.values()),
        kept_out=" and ".join(stories.KEPT_OUT_BOOKS),
        characters=KEPT_OUT_CHARACTERS,
        least=LEAST,
        bits=bits,
        rows=rows,
        digests=digests,
    )


_CARD = """# Character models

Two LSTMs of one layer that guess the next character of a text: `prose` and `code` (`models/before/characters.py`). They
know the printable characters of ASCII and the line break; everything else is one unknown sign.

## Data

At most {most:,} characters each:

- `prose`: children's books, in lines of at most 70 characters; public domain (US)
- `code`: the modules of the standard library of Python {python}, its tests left out; PSF licence

## Recipe

`python -m training --task single-cells --data DIR` (`training/characters.py`, commit `{commit}`): {seen} million
characters, in float32, with truncated backpropagation over 100 characters and the state carried on; `prose` in two
stages, each with a rate that rises and falls. The seed is fixed. Weights are kept in float16.

## Figures

Over {characters:,} characters kept out of training: of {kept_out}, and of one module in twenty, tables of
encodings left out. A cell can be named if its state, tanh of the cell, has a correlation of {least} or more, up or
down, with a signal computed from the text.

| model | bits per character | cells that can be named |
|---|---|---|
{bits}

The cell that goes along most with each signal, chosen over the first half of that text, measured over the second:

| model | cell | watches | correlation |
|---|---|---|---|
{rows}

## Limits

They foresee spelling and form, and no meaning. A correlation is no proof that a cell is there for what it is named
after, and most cells watch nothing that has a name here.

## Files

{digests}
- `figures.json`: the figures above
"""
