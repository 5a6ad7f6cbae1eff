"""The scripts of the tab One word run to their end on made-up data, and count as they say."""

import json
import lzma
import random
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer, BertConfig, BertForMaskedLM

from evaluation.metrics import names_f1
from models.registry import BUNDLED
from models.text import word_vectors as static
from training import which_layer, word_vectors

PLACES = ("paris", "rome", "oslo", "cairo")
THINGS = ("lamp", "boat", "bread", "2", "river", "song", "don't", "x")


def test_word_vectors_are_trained_saved_and_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(0)
    for name in word_vectors.FILES:
        lines = [" ".join(chance.choices(PLACES + THINGS, k=9)).capitalize() + "." for _ in range(100)]
        file = tmp_path / f"text/{name}.txt.xz"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(lzma.compress("\n".join(lines).encode(), preset=0))
    monkeypatch.setattr(static, "FOLDER", tmp_path / "words")
    monkeypatch.setattr(word_vectors, "AS_SHOWN", ("paris",))
    monkeypatch.setitem(word_vectors.SETTINGS, "epochs", 1)
    word_vectors.build(tmp_path, tmp_path / "work")
    known = static.load(tmp_path / "words")
    # Neither figures nor stray letters.
    assert set(known.words) == {*PLACES, *THINGS} - {"2", "x"}
    assert known.vectors.shape == (len(known.words), word_vectors.WIDTH)
    np.testing.assert_allclose(np.linalg.norm(known.vectors, axis=1), 1, atol=1e-2)
    card = (tmp_path / "words/README.md").read_text(encoding="utf-8")
    assert "| all | 60 |" in card and "(a word has no vector) (not queen)" in card and "- paris: " in card


def test_analogies_are_sixty_and_what_is_right_is_counted() -> None:
    asked = list(word_vectors.analogies())
    assert len(asked) == len(set(asked)) == 60
    assert {len([each for each in asked if each[0] == kind]) for kind, *_ in asked} == {12}
    words = ("man", "king", "woman", "queen", "moon")
    vectors = np.array([[1, 0, 0], [1, 0, 1], [0, 1, 0], [0, 1, 1], [1, 1, 1]], np.float32)
    found = word_vectors.tried(static.WordVectors(words, vectors / np.linalg.norm(vectors, axis=1)[:, None]))
    right = [said for _, said, is_right, _ in found if is_right]
    assert right == ["woman − man + king = queen"]


def test_which_layer_is_measured_for_every_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = AutoTokenizer.from_pretrained(BUNDLED / "clearhead-minilm")
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=4, num_attention_heads=2, intermediate_size=64
    )
    trunk = tmp_path / "checkpoints/clearhead-minilm"
    BertForMaskedLM(config).save_pretrained(trunk)
    tokenizer.save_pretrained(trunk)
    monkeypatch.setattr(which_layer, "CHECKPOINTS", tmp_path / "checkpoints")
    monkeypatch.setattr(which_layer, "FILE", tmp_path / "which_layer.json")
    monkeypatch.setattr(which_layer, "SEEDS", (0,))
    monkeypatch.setattr(which_layer, "EPOCHS", 60)
    chance = random.Random(0)
    for part in ("train", "dev"):
        sentences = ["-DOCSTART- O"]
        for _ in range(100):
            words = chance.choices(PLACES + THINGS, k=7)
            sentences.append("\n".join(f"{word} {'B-LOC' if word in PLACES else 'O'}" for word in words))
        file = tmp_path / f"ner/conll2003_{part}.txt"
        file.parent.mkdir(exist_ok=True)
        file.write_text("\n\n".join(sentences) + "\n")
    torch.manual_seed(0)
    which_layer.build(tmp_path, tmp_path)
    table = json.loads((tmp_path / "which_layer.json").read_text())
    assert (table["checkpoint"], table["layers"]) == ("clearhead-minilm", 4)
    assert [row["published_f1"] for row in table["rows"]] == [91.0, 94.9, 95.5, 95.6, 95.9, 96.1]
    # Which words are places, their own vectors say.
    assert all(row["f1"] > 95 for row in table["rows"])


def test_the_joined_layers_are_those_that_they_are_named_after() -> None:
    layers = torch.arange(2 * 7 * 3, dtype=torch.float32).reshape(2, 7, 3)
    joined = [join(layers) for _, join in which_layer.WAYS.values()]
    expected = [
        layers[:, 0], layers[:, 6], layers[:, 1:].sum(1), layers[:, 5], layers[:, 3:].sum(1),
        torch.cat([layers[:, 3], layers[:, 4], layers[:, 5], layers[:, 6]], dim=1),
    ]  # fmt: skip
    assert all(torch.equal(one, other) for one, other in zip(joined, expected, strict=True))


def test_the_f1_of_names_counts_whole_ones() -> None:
    given = [{(0, 2, "PER"), (3, 4, "LOC")}, set()]
    assert names_f1(given, given) == 100
    assert names_f1([{(0, 2, "PER"), (3, 5, "LOC")}, {(0, 1, "ORG")}], given) == pytest.approx(200 * 1 / 5)
    assert names_f1([set(), set()], [set(), set()]) == 0
