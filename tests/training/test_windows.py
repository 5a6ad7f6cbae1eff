"""Windows of the completion model's sources, and how what it writes begins."""

from itertools import islice

import pytest
import torch
from transformers import PreTrainedTokenizerFast

from training import small_gpt, text_generation, windows
from training.beginnings import learn_to_begin
from training.bpe import END_OF_TEXT


def test_documents_open_with_the_end_of_text_token(storyteller: PreTrainedTokenizerFast) -> None:
    source = windows.join(storyteller, ["One.", "Two, three.\n\nFour."])
    end = storyteller.eos_token_id
    assert storyteller.decode(source.pieces) == f"{END_OF_TEXT}One.{END_OF_TEXT}Two, three.\n\nFour.{END_OF_TEXT}"
    assert [storyteller.decode(source.pieces[at : at + 2])[0] for at in source.openings.tolist()] == ["O", "T", "F"]
    begun = windows.beginnings_of(storyteller, source.pieces).tolist()
    assert [storyteller.decode(source.pieces[at : at + 2])[0] for at in begun] == ["O", "T"]
    assert source.pieces[-1] == end


def test_windows_go_on_where_they_stopped_and_open_as_a_visitor_does(storyteller: PreTrainedTokenizerFast) -> None:
    sources = [windows.join(storyteller, [f"Number {n}. " * 300 for n in range(5)]) for _ in range(6)]
    for part in text_generation.PARTS:
        through = [batch["pieces"] for batch in islice(windows.windows_of(sources, 0, part), 80)]
        assert torch.equal(through[60], next(windows.windows_of(sources, 60, part))["pieces"])
        assert all(rows.shape[0] * (rows.shape[1] - 1) == windows.PIECES for rows in through)
        opened = torch.cat([rows[:, 0] for rows in through]) == storyteller.eos_token_id
        assert opened.float().mean().item() == pytest.approx(part.opened, abs=0.05)


def test_opened_windows_may_be_of_other_sources_than_all_are(storyteller: PreTrainedTokenizerFast) -> None:
    sources = [windows.join(storyteller, [f"{name} {n}. " * 300 for n in range(5)]) for name in ("Number", "Letter")]
    part = windows.Part("some", (0.5, 0.5), (0.5, 0.5), steps=90, warmup_steps=1, rates=1, opened_of=(0.1, 0.9))
    rows = torch.cat([batch["pieces"] for batch in islice(windows.windows_of(sources, 0, part), 40)])
    opened = rows[:, 0] == storyteller.eos_token_id
    of_the_second = torch.tensor(["Letter" in storyteller.decode(row) for row in rows])
    assert of_the_second[opened].float().mean().item() == pytest.approx(0.9, abs=0.05)
    assert of_the_second[~opened].float().mean().item() == pytest.approx(0.5, abs=0.08)


@pytest.mark.parametrize("part", text_generation.PARTS, ids=lambda part: part.name)
def test_windows_are_as_long_as_a_part_says_and_shares_move_from_its_first_to_its_last(part: windows.Part) -> None:
    lengths = [part.window_at(step) for step in range(part.steps)]
    assert lengths[:8].count(windows.LONG_WINDOW) == 2 * part.long
    assert set(lengths) <= {windows.WINDOW, windows.LONG_WINDOW}
    if part.all_long_from < 1:
        assert set(lengths[int(part.all_long_from * part.steps) + 1 :]) == {windows.LONG_WINDOW}
    assert part.shares_at(0) == list(part.first)
    assert part.shares_at(part.steps) == pytest.approx(part.last)
    assert sum(part.first) == pytest.approx(1)
    assert sum(part.last) == pytest.approx(1)


def test_how_texts_begin_is_learnt_by_the_first_places_vector_alone(storyteller: PreTrainedTokenizerFast) -> None:
    torch.manual_seed(0)
    sources = [windows.join(storyteller, [f"{name} is here. " * 300] * 2) for name in ("Number", "Letter")]
    model = small_gpt.new_model(storyteller).eval()
    with torch.no_grad():
        model.transformer.wte.weight.mul_(20)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    starts = [storyteller(name)["input_ids"][0] for name in ("Number", "Letter")]

    def shares() -> list[float]:
        with torch.inference_mode():
            first = model(torch.tensor([[storyteller.bos_token_id]])).logits[0, 0].softmax(-1)
        return first[starts].tolist()

    learn_to_begin(model, sources, (0.1, 0.9))
    number, letter = shares()
    assert letter > 0.6 > 0.3 > number
    for name, tensor in model.state_dict().items():
        if name != "transformer.wpe.weight":
            assert torch.equal(tensor, before[name])
    assert torch.equal(model.transformer.wpe.weight[1:], before["transformer.wpe.weight"][1:])
