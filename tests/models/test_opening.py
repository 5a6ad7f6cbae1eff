"""Where a reader opens: worked examples, the recorded examples, and the groups of heads that agree."""

import numpy as np
import pytest

from demo.recorded import recorded
from models.explain.head_roles import HeadGroup, head_groups
from models.explain.opening import Opening, opening, token_that_matters
from models.outputs import (
    Answer,
    Attention,
    CompletionOutput,
    FillMaskOutput,
    GeneratedToken,
    LoadedCheckpoint,
    QuestionAnsweringOutput,
    SentimentOutput,
    TaskOutput,
    Token,
    TranslationOutput,
)
from models.registry import Task
from models.text.words import ENGLISH, TRANSLATED_INTO, is_content_word
from tests.models.conftest import BundledModel

BY = LoadedCheckpoint("made-up", "0", "CC0-1.0")


def tokens_of(text: str) -> tuple[Token, ...]:
    """Tokens with their places in the text; those in square brackets are special and have none."""
    tokens, start = [], 0
    for word in text.split(" "):
        special = word[:1] == "["
        tokens.append(Token(word, word, len(tokens), special, *((-1, -1) if special else (start, start + len(word)))))
        start += len(word) + 1
    return tuple(tokens)


def attention_over(text: str, kind: str = "encoder", layers: int = 2, heads: int = 2) -> Attention:
    """Heads that all look at the first token alone, to be overwritten."""
    tokens = tokens_of(text)
    weights = np.zeros((layers, heads, len(tokens), len(tokens)), dtype=np.float32)
    weights[..., 0] = 1
    return Attention(kind, weights, tokens, tokens, np.zeros((len(tokens), len(tokens)), dtype=bool))


def look(attention: Attention, layer: int, head: int, query: int, **shares: float) -> None:
    """Let one head look from `query` at the words named, and with the rest at the first token."""
    texts = [token.text for token in attention.key_tokens]
    row = attention.weights[layer, head, query]
    row[:] = 0
    for word, share in shares.items():
        row[texts.index(word)] = share
    row[0] += 1 - sum(shares.values())


def filled(attention: Attention) -> FillMaskOutput:
    return FillMaskOutput(BY, attention.query_tokens, (), ())


def test_it_opens_on_the_head_that_gives_most_to_one_content_word() -> None:
    attention = attention_over("[CLS] a cup of [MASK] please [SEP]")
    look(attention, 0, 0, 4, of=0.9)
    look(attention, 0, 1, 4, cup=0.4, please=0.4)
    look(attention, 1, 0, 4, cup=0.6)
    look(attention, 1, 1, 4, cup=0.5)
    assert opening(filled(attention), attention) == Opening(query=4, layer=1, head=0, key=2)


def test_a_head_that_looks_next_door_from_everywhere_is_left_aside() -> None:
    attention = attention_over("[CLS] strong hot [MASK] please [SEP]")
    attention.weights[0, 0] = np.eye(6, k=-1)
    attention.weights[0, 0, 0, 0] = 1
    look(attention, 1, 1, 3, strong=0.3)
    assert opening(filled(attention), attention) == Opening(query=3, layer=1, head=1, key=1)


def test_the_first_word_of_a_text_without_marks_counts_as_a_resting_place() -> None:
    attention = attention_over("Foxes sleep quietly", "decoder")
    look(attention, 1, 0, 2, sleep=0.2)
    written = CompletionOutput(BY, attention.query_tokens, "", ())
    assert opening(written, attention) == Opening(query=2, layer=1, head=0, key=1)


def test_pieces_count_as_the_word_that_they_spell() -> None:
    attention = attention_over("[CLS] un ##put ##down [MASK] fox [SEP]")
    look(attention, 0, 1, 4, fox=0.5)
    look(attention, 1, 1, 4, **{"un": 0.3, "##put": 0.2, "##down": 0.2})
    assert opening(filled(attention), attention) == Opening(query=4, layer=1, head=1, key=1)


def test_a_text_without_a_word_to_look_at_opens_all_the_same() -> None:
    attention = attention_over("[CLS] [MASK] [SEP]")
    assert opening(filled(attention), attention).query == 1


def found(score: float) -> QuestionAnsweringOutput:
    """An answer at characters 3 to 7, or none where it is less likely than that there is none."""
    return QuestionAnsweringOutput(BY, (), (Answer("1271", score, 3, 7),), 1 - score, (), (), 1)


MATTERS: list[tuple[str, str, TaskOutput, str]] = [
    ("[CLS] a [MASK] in [MASK] [SEP]", "encoder", FillMaskOutput(BY, (), (), ()), "[MASK]"),
    ("[CLS] a good film [SEP]", "encoder", SentimentOutput(BY, (), "positive", ()), "[CLS]"),
    ("in 1271 they left", "encoder", found(0.9), "1271"),
    ("in 1271 they left", "encoder", found(0.1), "in"),
    ("La voiture rouge", "cross", TranslationOutput(BY, (), (), ()), "voiture"),
    ("The car is red", "encoder", TranslationOutput(BY, (), (), ()), "car"),
    ("So it was a fox . [END]", "decoder", CompletionOutput(BY, (), "", ()), "fox"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "output", "token"), MATTERS, ids=[each[0] for each in MATTERS])
def test_the_token_that_matters(text: str, kind: str, output: TaskOutput, token: str) -> None:
    attention = attention_over(text, kind)
    assert attention.query_tokens[token_that_matters(output, attention)].text == token
    assert opening(output, attention).query == token_that_matters(output, attention)


@pytest.mark.parametrize("task", Task)
def test_recorded_examples_open_where_a_run_of_the_same_text_does(task: Task, bundled: BundledModel) -> None:
    example = recorded(task)
    model = bundled(example.run.checkpoint)
    attention = next(
        iter(model.attend(model.inputs_type(**dict(example.source.inputs)), example.source.written).values())
    )
    opened, view = opening(example.output, attention), example.view
    assert (view.kind, view.how, view.telling) == (attention.kind, "head", True)
    assert (view.token, view.layer, view.head, view.key) == (opened.query, opened.layer, opened.head, opened.key)
    np.testing.assert_allclose(view.weights, attention.weights[opened.layer, opened.head], atol=1e-4)


@pytest.mark.parametrize("word", ["drank", "1271", "car", "l'animal", "##put", "東京"])
def test_words_of_content(word: str) -> None:
    assert is_content_word(word)


@pytest.mark.parametrize(("word", "language"), [("The", ENGLISH), ("don't", ENGLISH), (",", ENGLISH),
                                                ("n'ai", TRANSLATED_INTO), ("Die", TRANSLATED_INTO)])  # fmt: skip
def test_words_of_none(word: str, language: frozenset[str]) -> None:
    assert not is_content_word(word, language)


def test_heads_are_grouped_by_the_word_that_they_look_at_most() -> None:
    attention = attention_over("[CLS] it animal street [SEP]", heads=3)
    look(attention, 0, 1, 1, animal=0.6)
    look(attention, 1, 0, 1, animal=0.9)
    look(attention, 1, 1, 1, street=0.4, animal=0.3)
    look(attention, 1, 2, 1, it=0.25, animal=0.25, street=0.25)
    groups = head_groups(attention, (1,))
    found = [(group.word, [(layer, head, round(share, 2)) for layer, head, share in group.heads]) for group in groups]
    assert found == [
        ((0,), [(0, 0, 1.0), (0, 2, 1.0)]),
        ((2,), [(0, 1, 0.6), (1, 0, 0.9)]),
        ((3,), [(1, 1, 0.4)]),
        ((), [(1, 2, 0.25)]),
    ]
    assert isinstance(groups[0], HeadGroup)


def test_generated_tokens_matter_from_their_end() -> None:
    attention = attention_over("a b c", "decoder")
    generated = tuple(GeneratedToken(token, 0.5, ()) for token in attention.query_tokens[1:])
    assert token_that_matters(CompletionOutput(BY, (), "", generated), attention) == 2
