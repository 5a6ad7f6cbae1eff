"""Every training script runs to its end, on a hundred lines of made-up data and with tiny networks."""

import json
import lzma
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoTokenizer, BertConfig, BertForMaskedLM, LlamaConfig, LlamaForCausalLM

from models.before.translators import KINDS, THE_TRANSFORMER
from models.loading.store import ModelStore
from models.registry import BUNDLED, REGISTRY
from models.tasks.written_by import BITS, RANKS
from training.__main__ import SCRIPTS
from training.bpe import byte_level_tokenizer
from training.stories import KEPT_OUT_BOOKS
from training.text_generation import Part

WITHOUT_CHECKPOINT = (
    "word-vectors",
    "which-layer",
    "before-transformers",
    "perplexity-by-window",
    "written-by",
    "single-cells",
    "early-translators",
)
"""Scripts that make no checkpoint, with tests of their own below or in `test_words.py`."""

LINES = 100
TITLES = 10
WORDS = [
    "cat", "dog", "bird", "house", "river", "tree", "child", "mother", "teacher", "boat",
    "garden", "window", "road", "star", "song", "bread", "apple", "winter", "summer", "small",
    "large", "old", "young", "quick", "slow", "red", "green", "kind", "happy", "sad",
    "loud", "near", "far",
]  # fmt: skip
TINY = {
    "masked_lm": {"BATCH_TOKENS": 256, "DEVELOPMENT_CHARACTERS": 3000, "WINDOW_STEPS": 2, "SENTENCE_STEPS": 2},
    "sentiment": {"PHRASE_EPOCHS": 1, "OPINION_EPOCHS": 0},
    "pairs": {"STEPS": 8, "BATCH_TOKENS": 400, "FOLLOWING_PAIRS": 100, "DEVELOPMENT_FOLLOWING": 10,
              "LEAST_FOLLOWED": 2, "FROZEN_LAYERS": 1, "DEVELOPMENT_BATCHES": 1},
    "question_answering": {"HELD_OUT_ARTICLES": 2, "PARAGRAPH_EPOCHS": 1},
    "names": {"EPOCHS": 1, "EVERYDAY_SENTENCES": 20, "BATCH_TOKENS": 256, "FROZEN_LAYERS": 1},
    "translation": {"VOCABULARY": 400, "WIDTH": 32, "STEPS": 2, "BATCH_TOKENS": 200, "PHRASES_TIMES": 1,
                    "EVERYDAY_TIMES": 1, "DEVELOPMENT_PAIRS": 5, "DEVELOPMENT_BATCHES": 2, "ALIGNED_SENTENCES": 5},
    "written_by": {"TEXTS_A_KIND": 12, "WRITTEN_TOKENS": 40, "WRITTEN_AT_ONCE": 12, "LENGTHS": (25, 50),
                   "TEXT_CHARACTERS": 400},
    "text_generation": {"VOCABULARY": 400, "WIDTH": 48, "WRITTEN_STORIES": 64, "DEVELOPMENT_CHARACTERS": 500,
                        "STORIES": Part(steps=2, rows=2, window=16, shares=(1,) * 5, opened=0.2),
                        "BESIDE_EVERYDAY": Part(steps=2, rows=2, window=16, shares=(1,) * 5, opened=0.2)},
}  # fmt: skip
"""What each script is told to do less of."""


class Prose:
    """Sentences of plain words, no two the same."""

    def __init__(self) -> None:
        self._chance, self._given = random.Random(0), set[str]()

    def sentence(self, words: int = 9) -> str:
        while True:
            made = " ".join(self._chance.choices(WORDS, k=words)).capitalize() + "."
            if made not in self._given:
                self._given.add(made)
                return made

    def paragraphs(self, count: int = LINES, sentences: int = 3) -> list[str]:
        return [" ".join(self.sentence() for _ in range(sentences)) for _ in range(count)]


def write(file: Path, lines: list[str], between: str = "\n") -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    text = between.join(lines) + "\n"
    if file.suffix == ".xz":
        file.write_bytes(lzma.compress(text.encode(), preset=0))
    else:
        file.write_text(text, encoding="utf-8")


def write_questions(file: Path, prose: Prose, *, unanswered: bool = False) -> None:
    """A SQuAD file of `LINES` questions on a few articles; of those of version 2 every other has no answer."""
    articles: list[dict[str, Any]] = [{"title": f"Article {title}", "paragraphs": []} for title in range(TITLES)]
    for number in range(LINES):
        context = " ".join(prose.sentence() for _ in range(2))
        answer = context.split()[2]
        answers = [] if unanswered and number % 2 else [{"text": answer, "answer_start": context.index(answer)}]
        asked = {"id": str(number), "question": f"Which word stands before {context.split()[3]}?", "answers": answers}
        articles[number % TITLES]["paragraphs"].append({"context": context, "qas": [asked]})
    write(file, [json.dumps({"version": "made up", "data": articles})])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in the layout that the scripts read."""
    folder, prose = tmp_path_factory.mktemp("data"), Prose()
    for letter in "ABCDE":
        write(folder / f"text/wikipedia_{letter}.txt.xz", ["A title", *prose.paragraphs()])
    books: list[str] = []
    for title, count in ((KEPT_OUT_BOOKS[0], 5), (KEPT_OUT_BOOKS[1], 5), ("Another Book", LINES)):
        books += [f"Title: {title}", "Author: Nobody", "Year: 1900", *prose.paragraphs(count)]
    write(folder / "text/children_books.txt.xz", books)
    write(folder / "text/fairytales.txt", [f"A tale\n{each}" for each in prose.paragraphs()], "\n\n")
    write(folder / "text/tinystories_head.txt", prose.paragraphs(), "<|endoftext|>")
    write(folder / "text/imdb_unsup.txt.xz", prose.paragraphs())
    for name in ("plain_facts", "wordnet_examples"):
        write(folder / f"text/{name}.txt.xz", [prose.sentence(5) for _ in range(LINES)])
    for part in ("train", "dev"):
        rows = [f"{prose.sentence().lower()}\t{number % 2}" for number in range(LINES)]
        write(folder / f"sst2/{part}.tsv", ["sentence\tlabel", *rows])
    for name, labels in {"snli_train": 3, "sick_train": 3, "sick_dev": 3, "mrpc_train": 2, "quora_train": 2}.items():
        rows = [f"{prose.sentence()}\t{prose.sentence()}\t{number % labels}" for number in range(LINES)]
        write(folder / f"pairs/{name}.tsv", rows)
    for name in ("squad_v1_articles", "squad_v2_articles", "qamr_1", "qamr_2", "fairytaleqa_train"):
        write_questions(folder / f"qa/{name}.json", prose, unanswered="v2" in name)
    for part in ("train", "dev"):
        sentences = (prose.sentence().split() for _ in range(LINES))
        tagged = ["\n".join([f"{first} B-PER", *(f"{word} O" for word in rest)]) for first, *rest in sentences]
        write(folder / f"ner/conll2003_{part}.txt", tagged, "\n\n")
    for name in ("tatoeba", "multi30k_train", "multi30k_val", "newstest2008_2013"):
        # Those of the one set are translated, which takes a network that knows nothing long.
        sentences = [
            prose.sentence(3 if name.endswith("val") else 6) for _ in range(5 if name.endswith("val") else LINES)
        ]
        write(folder / f"translation/{name}_en_fr.tsv", [f"{each}\t{each.swapcase()}" for each in sentences])
    return folder


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    """A training script by its task, told to do little, and to keep what it makes in a folder of its own.

    The encoders to start from and the model that writes stories are tiny and know nothing.
    """
    trunk, encoder = tmp_path / "checkpoints" / "clearhead-minilm", tmp_path / "encoder"
    tokenizer = AutoTokenizer.from_pretrained(BUNDLED / "clearhead-minilm")

    def begin(task: str) -> Any:
        script = import_module(f"training.{SCRIPTS[task]}")
        config = BertConfig(
            vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64
        )
        for folder in (trunk, encoder):
            BertForMaskedLM(config).half().save_pretrained(folder)
            tokenizer.save_pretrained(folder)
        for name, module in list(sys.modules.items()):
            if name.startswith(("training.", "models.")):
                for known, ours in (("CHECKPOINTS", trunk.parent), ("BUNDLED", trunk.parent)):
                    if hasattr(module, known):
                        monkeypatch.setattr(module, known, ours)
                if hasattr(module, "published_encoder"):
                    monkeypatch.setattr(module, "published_encoder", lambda: encoder)
        monkeypatch.setattr("training.stories.published_writer", tiny_writer)
        for name, value in {"KEPT_OUT_REVIEWS": 5, "WRITER_STEPS": 2, "WRITER_ROWS": 2, "WRITER_WINDOW": 32,
                            "WRITTEN_AT_ONCE": 32, "LONGEST_WRITTEN": 60}.items():  # fmt: skip
            monkeypatch.setattr(f"training.stories.{name}", value)
        probes = import_module("evaluation.probes")
        some = probes.probes_of
        monkeypatch.setattr(probes, "probes_of", lambda *asked: some(*asked)[:3])
        monkeypatch.setattr("models.loading.store._default", ModelStore())
        for name, value in TINY[SCRIPTS[task]].items():
            monkeypatch.setattr(script, name, value)
        return script

    yield begin


def tiny_writer() -> tuple[LlamaForCausalLM, Any]:
    tokenizer = byte_level_tokenizer(WORDS, vocab_size=300)
    shape = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    writer = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), tie_word_embeddings=True, **shape))
    return writer, tokenizer


@pytest.mark.parametrize("task", [task for task in SCRIPTS if task not in WITHOUT_CHECKPOINT])
def test_a_training_script_runs_to_its_end(task: str, data: Path, small: Callable[[str], Any], tmp_path: Path) -> None:
    torch.manual_seed(0)
    script = small(task)
    script.build(data, tmp_path / "work")
    folder = tmp_path / "checkpoints" / script.NAME
    assert "## Figures" in (folder / "README.md").read_text()
    assert list(folder.glob("*.safetensors")) and (folder / "tokenizer.json").exists()
    assert json.loads((folder / "tokenizer.json").read_text())["truncation"] is None
    model = ModelStore().load(REGISTRY[script.NAME])
    assert model.network.num_parameters() > 0


def test_the_networks_before_transformers_are_trained_and_measured(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = import_module("training.before")
    monkeypatch.setattr("models.before.FOLDER", tmp_path / "before")
    less = {"KNOWN_WORDS": 100, "MORE_WORDS": 50, "KNOWN_GRAMS": 50, "KEPT_OUT_WORDS": 100, "WINDOWS": 2, "SAMPLES": 20,
            "LANGUAGE_STEPS": 2, "CURVE": {10: 1, 20: 1}, "CURVE_SEEDS": range(1)}  # fmt: skip
    quick = {key: replace(recipe, epochs=1) for key, recipe in script.RECIPES.items()}
    for name, value in {**less, "RECIPES": quick}.items():
        monkeypatch.setattr(script, name, value)
    script.build(data, tmp_path / "work")
    assert "| BERT (clearhead-sentiment) |" in (tmp_path / "before/README.md").read_text()
    figures = json.loads((tmp_path / "before/figures.json").read_text())
    assert figures["accuracy"].keys() == {*script.RECIPES, "bert"}
    assert [len(each) for each in figures["curve"]["lstm"].values()] == [1, 1]


def test_what_a_short_window_costs_is_measured_on_both_texts(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = import_module("training.perplexity_by_window")
    monkeypatch.setattr(script, "FILE", tmp_path / "perplexity_by_window.json")
    monkeypatch.setattr("training.stories.KEPT_OUT_REVIEWS", 5)
    script.build(data, tmp_path)
    measured = json.loads(script.FILE.read_text())
    assert measured["checkpoint"] == "clearhead-stories"
    for text in measured["texts"].values():
        assert [row["window"] for row in text["rows"]] == list(script.WINDOWS)
        assert all(1 < row["perplexity"] < 1e6 for row in text["rows"]) and text["tokens"] > 100


def test_the_character_models_are_trained_and_their_cells_named(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = import_module("training.characters")
    folder, library = tmp_path / "characters", tmp_path / "library"
    for name in ("one", "two", "three"):
        write(library / f"{name}.py", [f"def {name}(x):", "    return [x, 'a']  # it", ""] * 30)
    write(library / "test" / "four.py", ["assert False"])
    monkeypatch.setattr("models.before.characters.FOLDER", folder)
    monkeypatch.setattr("training.characters.sysconfig.get_path", lambda _: str(library))
    less = {"CELLS": 8, "ROWS": 2, "WINDOW": 10, "STAGES": {"prose": (2, 1), "code": (2,)}, "KEPT_OUT_CHARACTERS": 500}
    for name, value in {**less, "LEAST": 0.01}.items():
        monkeypatch.setattr(script, name, value)
    script.build(data, tmp_path / "work")
    figures = json.loads((folder / "figures.json").read_text())
    assert list(figures) == ["prose", "code"]
    assert all(each["cells"] == 8 and each["named"] and each["bits_per_character"] > 1 for each in figures.values())
    assert "| code | " in (folder / "README.md").read_text()
    assert {file.name for file in folder.glob("*.safetensors")} == {"prose.safetensors", "code.safetensors"}


def test_four_early_translators_learn_the_pairs_and_are_measured_beside_the_transformer(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, folder = import_module("training.early_translators"), tmp_path / "translators"
    monkeypatch.setattr("models.before.translators.FOLDER", folder)
    stages = {"one_vector": (2, 1), "dot": (2,), "additive": (1,), "bilinear": (1,)}
    less = {"WIDTH": 8, "STATES": 16, "ADDITIVE_STATES": 8, "STAGES": stages, "WARMUP_STEPS": 1, "BATCH_TOKENS": 200}
    for name, value in {**less, "DEVELOPMENT_BATCHES": 1, "SENTENCES": 3, "ALIGNED_SENTENCES": 5}.items():
        monkeypatch.setattr(script, name, value)
    monkeypatch.setattr("training.translation.DEVELOPMENT_PAIRS", 10)
    script.build(data, tmp_path / "work")
    found = json.loads((folder / "figures.json").read_text())
    assert list(found["figures"]) == [*(kind.key for kind in KINDS), THE_TRANSFORMER.key]
    assert all(len(each["by_length"]) == len(found["lengths"]) for each in found["figures"].values())
    assert {file.stem for file in folder.glob("*.safetensors")} == {kind.key for kind in KINDS}
    assert "| transformer | " in (folder / "README.md").read_text()


def test_a_detector_learns_from_people_and_models_and_is_measured_on_other_texts(
    data: Path, small: Callable[[str], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundled, prose = import_module("training.cards").CHECKPOINTS, Prose()
    for name in ("wikipedia_E", "wikinews"):
        articles = ["A title\n" + " ".join(prose.paragraphs(8)) for _ in range(LINES // 5)]
        write(tmp_path / f"data/text/{name}.txt.xz", articles, "\n\n")
    for name in ("children_books", "imdb_unsup"):
        (tmp_path / f"data/text/{name}.txt.xz").symlink_to(data / f"text/{name}.txt.xz")
    script = small("written-by")
    monkeypatch.setattr(script, "CHECKPOINTS", bundled)
    monkeypatch.setattr(script, "FILE", tmp_path / "written_by.json")
    script.build(tmp_path / "data", tmp_path / "work")
    detector = json.loads(script.FILE.read_text())
    assert len(detector["coefficients"]) == len(RANKS) + len(BITS) + 2
    assert [sum(shares[: len(RANKS) + 1]) for shares in detector["typical"].values()] == pytest.approx([1, 1], abs=1e-3)
    first = detector["figures"][0]
    assert first["tokens"] == 25 and 0 <= first["false_alarms"] <= 1
    assert {script.UNMET, "encyclopedia", "news"} <= first["called"].keys()
