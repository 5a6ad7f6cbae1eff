"""Training data for names: read, joined, made of templates, and turned into tokens."""

import random
from pathlib import Path

from transformers import PreTrainedTokenizerBase

from evaluation.probes import probes_of
from models.registry import Task
from training import text
from training.names import IGNORED, LABELS, Everyday, encode, runs_of
from training.text import Marked, Span


def test_columns_are_read_as_texts_with_their_names(tmp_path: Path) -> None:
    file = tmp_path / "names.txt"
    file.write_text("-DOCSTART- O\n\nAda B-PER\nQuist I-PER\ndid O\nn't O\nleave O\nPorto B-LOC\n. O\n\nRain O\n\n")
    first, second = text.read_conll(file)
    assert first == Marked("Ada Quist didn't leave Porto .", (Span(0, 9, "PER"), Span(23, 28, "LOC")))
    both = text.joined([second, first])
    assert both.text == "Rain Ada Quist didn't leave Porto ."
    assert [both.text[start:end] for start, end, _ in both.spans] == ["Ada Quist", "Porto"]
    three = [first, second, first]
    assert text.joined(runs_of(three, random.Random(0))) == text.joined(three)


def test_the_first_piece_of_each_word_alone_is_labelled(tokenizer: PreTrainedTokenizerBase) -> None:
    marked = Marked("Karlsson left A.B. Quist", (Span(0, 8, "PER"), Span(14, 24, "ORG")))
    ((ids, labels),) = encode([marked], tokenizer)
    assert tokenizer.convert_ids_to_tokens(ids)[1:4] == ["karl", "##sson", "left"]
    given = [None if label == IGNORED else LABELS[label] for label in labels]
    assert given[:8] == [None, "B-PER", None, "O", "B-ORG", "I-ORG", "I-ORG", "I-ORG"]
    assert given[-1] is None


def test_made_sentences_mark_their_names_without_articles_and_are_no_probes() -> None:
    known = frozenset(text.normalised(probe["text"]) for probe in probes_of(Task.NAMES))
    made = Everyday(known).made(3_000, random.Random(1))
    assert not any("{" in each.text for each in made)
    assert known.isdisjoint(text.normalised(each.text) for each in made)
    named = {each.text[start:end] for each in made for start, end, _ in each.spans}
    assert not any(name.startswith("the ") for name in named) and "Red Cross" in named
    assert sum(not each.spans for each in made) > 300
