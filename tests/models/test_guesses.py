"""What is guessed changes how soon a token comes, and not which."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import GenerationConfig, PreTrainedModel

from models.checkpoints import REGISTRY
from models.decoder_state import DecoderState
from models.decoding import Chooser, greedy, sampling, write
from models.errors import Stopped
from models.guesses import MOST_GUESSES, Guesser, UsualNext, save_usual_next, usual_next
from models.loading import ModelStore
from models.network_lock import NetworkLock
from models.precision import Precision, offered
from models.steps import Steps
from models.stopping import only_while
from models.text_generation import TextGeneration
from tests.models.test_lean import gpt2, plain_logits
from tests.models.test_precision import plain
from tests.models.test_steps import nearly_all_alike

USUAL = UsualNext(
    pairs=[12, 23],
    behind_pairs=[4, 1],
    shares_of_pairs=[204, 102],
    behind_one=[0, 2, 3, 0, 6, 0, 0, 0, 0, 0],
    shares_of_one=[0, 255, 51, 0, 153, 0, 0, 0, 0, 0],
)


class Told(Guesser):
    """Guesses what it is told to, whatever the text."""

    def __init__(self, guess: Callable[[int], list[int]]) -> None:
        self._guess = guess

    def guesses(self, ids: Sequence[int], most: int) -> list[int]:
        return self._guess(len(ids))[:most]


@pytest.mark.parametrize(
    ("text", "following"),
    [
        ([1, 2, 3, 4, 7, 5, 2, 3, 4, 8, 1, 2, 3, 4], 7),
        ([1, 2, 3, 7, 5, 2, 3, 8, 1, 2, 3], 7),
        ([5, 2, 3, 7, 5, 2, 3, 8, 1, 2, 3], 8),
        ([2, 3, 7, 1, 2, 3], 7),
        ([1, 1, 1], 1),
    ],
    ids=["four alike", "three alike", "the last of several", "at the very beginning", "of itself"],
)
def test_a_text_goes_on_as_it_did_behind_the_longest_run_alike(text: list[int], following: int) -> None:
    assert Guesser().guesses(text, 1) == [following]


def test_guesses_go_on_from_guesses_as_far_as_there_is_room_and_they_are_likely() -> None:
    guesser = Guesser()
    # Two alike, 0.4, then three, 0.5, then four, 0.8, which is not enough.
    text = [1, 2, 3, 4, 5, 6, 9, 1, 2]
    assert [guesser.guesses(text, most) for most in range(5)] == [[], [3], [3, 4], [3, 4], [3, 4]]
    assert guesser.guesses([7] * 9, 100) == [7] * MOST_GUESSES


@pytest.mark.parametrize("text", [[], [4], [4, 5], [4, 5, 6, 7], [4, 5, 4]])
def test_a_text_that_says_nothing_twice_has_no_guesses(text: list[int]) -> None:
    assert Guesser().guesses(text, 3) == []


def test_what_is_usual_is_guessed_where_nothing_repeats_as_far_as_it_is_likely() -> None:
    guesser = Guesser(USUAL)
    # Behind 1 and 2 stands 4 in 0.8 of all cases, behind 4 alone 6 in 0.6; behind 6 nothing is known.
    assert guesser.guesses([1, 2], 3) == [4, 6]
    assert guesser.guesses([9, 2, 3], 1) == [1]
    assert guesser.guesses([2, 3], 9) == [1, 2, 4]
    assert guesser.guesses([1], 1) == [2]
    assert guesser.guesses([9, 2], 1) == [3]
    assert guesser.guesses([2, 2, 4], 9) == [6]
    assert guesser.guesses([8], 1) == guesser.guesses([], 1) == []
    assert guesser.guesses([1, 2, 9, 1, 2], 1) == [9]


def test_what_is_usual_is_read_as_it_was_saved(tmp_path: Path) -> None:
    assert usual_next(tmp_path) is None
    pairs, behind_pairs, shares_of_pairs, behind_one, shares_of_one = map(torch.tensor, vars(USUAL).values())
    save_usual_next(pairs, behind_pairs, shares_of_pairs / 255, behind_one, shares_of_one / 255, tmp_path)
    read = usual_next(tmp_path)
    assert read is not None
    assert [list(each) for each in vars(read).values()] == [list(each) for each in vars(USUAL).values()]


@pytest.mark.parametrize("choose", ["greedy", "sampled"])
@torch.inference_mode()
def test_right_and_wrong_guesses_leave_a_text_as_it_is(choose: str) -> None:
    network = gpt2()
    # Logits of small random networks lie close together; sharper ones are further apart than reading ahead rounds.
    network.lm_head.weight.data *= 30
    passes = []

    def chooser() -> Chooser:
        if choose == "greedy":
            return greedy(GenerationConfig(), 200)
        return sampling(GenerationConfig(), 200, temperature=1.0, top_k=40, top_p=0.95, seed=3)

    def written(guesser: Guesser | None) -> list[Any]:
        steps = Steps(NetworkLock())
        read = steps._lanes._work

        def counted(lane: Any, batch: Any) -> Any:
            passes[-1] += 1
            return read(lane, batch)

        steps._lanes._work = counted
        passes.append(0)
        state = DecoderState(network, torch.tensor([[3, 4, 5]]), steps)
        return list(steps.told(write(state, chooser(), 60, (), guesser=guesser)))

    alone = written(None)
    ids = [3, 4, 5, *(step.id for step in alone)]

    def right(length: int) -> list[int]:
        return ids[length : length + 3]

    def wrong_at(place: int) -> Callable[[int], list[int]]:
        return lambda length: [each + (number == place) for number, each in enumerate(right(length))]

    for guess in (right, wrong_at(0), wrong_at(1), wrong_at(2), lambda _: [1] * 3):
        found = written(Told(guess))
        assert [step.id for step in found] == ids[3:]
        for mine, other in zip(found, alone, strict=True):
            assert mine.probability == pytest.approx(other.probability, abs=1e-5)
    assert passes[:5] == [60, 15, 60, 30, 20]


@torch.inference_mode()
def test_what_is_said_behind_a_guess_is_what_is_said_there() -> None:
    network = gpt2()
    steps = Steps(NetworkLock())
    state = DecoderState(network, torch.tensor([[3, 4, 5]]), steps)
    guesser = Told(lambda _: [7, 8, 9])
    for step in range(40):
        logits = steps.result(state.next_scores(guesser, 60)).logits
        torch.testing.assert_close(logits, plain_logits(network, state.ids, None)[0], atol=1e-4, rtol=1e-4)
        # All guesses are right at times, none at others.
        state.append([[7, 8, 9, 2, 7, 4][step % 6]])


@pytest.mark.parametrize("precision", offered(writes=True))
@pytest.mark.parametrize("strategy", ["greedy", "sample"])
def test_the_bundled_model_writes_the_same_without_guesses(strategy: str, precision: Precision) -> None:
    model = ModelStore(precision=precision).load(REGISTRY["clearhead-stories"])
    assert isinstance(model, TextGeneration)
    assert model.guesser is not None
    assert model.guesser.usual is not None

    def answers() -> list[dict[str, Any]]:
        prompts = [plain(number) for number in range(12)]
        return [asdict(model(prompt=each, strategy=strategy, max_new_tokens=40, seed=7)) for each in prompts]

    with_guesses = answers()
    model.guesser = None
    nearly_all_alike(with_guesses, answers())


def test_the_last_tokens_before_the_window_ends_are_not_read_beyond_it() -> None:
    model = ModelStore().load(REGISTRY["clearhead-stories"])
    text = "a " * (model.window - 4)
    size = len(model.tokenizer(text)["input_ids"])
    answer = model(prompt=text, strategy="greedy", max_new_tokens=model.window - size)
    assert len(answer.generated) == model.window - size or answer.generated[-1].token.id in model.end_ids


def test_whoever_stops_between_guesses_stops() -> None:
    model = ModelStore().load(REGISTRY["clearhead-stories"])
    asked = iter(range(3))
    with pytest.raises(Stopped), only_while(lambda: next(asked, None) is not None):
        model(prompt="Once upon a time", strategy="greedy", max_new_tokens=60)


def test_a_network_that_transformers_reads_has_no_guesses_read() -> None:
    network: PreTrainedModel = gpt2(scale_attn_by_inverse_layer_idx=True)
    steps = Steps(NetworkLock())
    state = DecoderState(network, torch.tensor([[3, 4, 5]]), steps)
    with torch.inference_mode():
        for _ in range(3):
            found: Tensor = steps.result(state.next_scores(Told(lambda _: [7, 8]), 9)).logits
            expected = plain_logits(network, state.ids, None)[0]
            torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
            state.append([7])
