"""A larger model that writes documents: how they begin and end, which are kept, and what it expected in them."""

from pathlib import Path

import pytest
import torch
from torch import Tensor
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from tests.training.conftest import DOCUMENTS
from training import writing
from training.expectations import DRAWS
from training.foreseen import Foreseen
from training.vocabularies import START, Vocabularies
from training.writing import Writer

COUNT = 24


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"AT_ONCE": 8, "LONGEST": 64, "SHORTEST": 3, "FILE_OF": COUNT, "OPENING": (2, 4)}.items():
        monkeypatch.setattr(writing, name, value)


class Reciting:
    """Expects one document, whatever the text has been: its token at the place, and its end behind it."""

    def __init__(self, tokens: list[int], order: Tensor) -> None:
        self._sorted = order.argsort()[torch.tensor([*tokens, START])]

    def __call__(self, tokens: Tensor, places: Tensor, chances: Tensor) -> Tensor:
        raise NotImplementedError

    def begin(self, texts: int, longest: int) -> None:
        self.size = (texts, longest)

    def grow(self, tokens: Tensor, places: Tensor, chances: Tensor) -> Tensor:
        assert len(tokens) == len(places) == len(chances) == self.size[0]
        assert torch.equal(tokens == START, places == 0)
        return self._sorted[places.clamp_max(len(self._sorted) - 1), None].repeat(1, DRAWS)


@pytest.fixture
def reciting(
    larger: LlamaForCausalLM,
    ours: PreTrainedTokenizerFast,
    theirs: PreTrainedTokenizerFast,
    monkeypatch: pytest.MonkeyPatch,
) -> Writer:
    """Writes the second document behind an opening of the first one."""
    tokens = Vocabularies(theirs, ours).tokens_of(DOCUMENTS[1])
    monkeypatch.setattr(writing, "Expectations", lambda _, order: Reciting(tokens, order))
    return Writer(larger, theirs, ours, DOCUMENTS[:1])


def documents_of(found: Foreseen, ours: PreTrainedTokenizerFast) -> list[str]:
    return ours.decode(found.pieces).removeprefix("<|endoftext|>").removesuffix("<|endoftext|>").split("<|endoftext|>")


def test_documents_begin_as_an_example_does_and_go_on_as_was_expected_up_to_the_end(
    reciting: Writer, ours: PreTrainedTokenizerFast, theirs: PreTrainedTokenizerFast
) -> None:
    torch.manual_seed(5)
    found = reciting.write(200)
    texts = documents_of(found, ours)
    first, second = (Vocabularies(theirs, ours).tokens_of(document) for document in DOCUMENTS)
    begun = {theirs.decode(first[:n] + second[n:]) for n in range(2, 5)}
    assert len(texts) == 200
    assert set(texts) == begun
    # What was expected in all of them, wherever a token begins with a piece: also the end, but not the first word.
    foreseen = found.row >= 0
    starts = (found.pieces[:-1] == ours.eos_token_id).nonzero().flatten() + 1
    assert len(starts) == 200
    assert not foreseen[starts].any()
    assert foreseen[starts[1:] - 1].all()
    assert foreseen.sum() == len(found.drawn)
    assert foreseen.float().mean() > 0.2
    right = found.drawn[found.row[foreseen].long()].long() == found.pieces[foreseen, None]
    assert torch.equal(right.all(-1), right.any(-1))
    assert right.float().mean() > 0.8


@pytest.mark.parametrize(("what", "value"), [("SHORTEST", 60), ("LONGEST", 12)])
def test_documents_of_the_wrong_length_are_left_out(
    reciting: Writer, monkeypatch: pytest.MonkeyPatch, what: str, value: int
) -> None:
    monkeypatch.setattr(writing, what, value)
    with pytest.raises(ValueError, match="No document"):
        reciting.write(COUNT)


def test_loops_are_found() -> None:
    assert writing.loops("They ran and ran. " + "It was fun to play. " * 4)
    assert not writing.loops("They ran and ran. " + "It was fun to play. " * 3)
    assert not writing.loops("")


def test_the_likelier_token_is_chosen_more_often_than_it_was_drawn() -> None:
    torch.manual_seed(2)
    # Of 24 draws one token is 16, another 7, and one a single one.
    drawn = torch.tensor([[7] * 16 + [9] * 7 + [3]]).repeat(40_000, 1)
    for length, power in ((0, writing.FREE_POWER), (writing.FREE, writing.POWER)):
        found = writing.chosen(drawn, torch.full((len(drawn),), length))
        weights = torch.tensor([16**power, 7**power, writing.RARE])
        shares = torch.tensor([(found == token).float().mean() for token in (7, 9, 3)])
        assert (shares - weights / weights.sum()).abs().max() < 0.01


def test_a_model_writes_the_same_again_and_goes_on_where_it_stopped(
    larger: LlamaForCausalLM, ours: PreTrainedTokenizerFast, theirs: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    with torch.no_grad():
        # A document ends after some twenty tokens.
        larger.lm_head.weight[START] = larger.model.norm.weight * 2.5
    writer = Writer(larger, theirs, ours, DOCUMENTS)
    whole = writing.written(writer, tmp_path / "whole", 600)
    part = writing.written(writer, tmp_path / "parts", 1)
    assert 0 < len(part.pieces) < len(whole.pieces)
    again = writing.written(writer, tmp_path / "parts", 600)
    for name, tensor in vars(whole).items():
        assert torch.equal(tensor, getattr(again, name))
    assert len(set(documents_of(whole, ours))) > COUNT
