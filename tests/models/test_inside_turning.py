"""Changes in the tab Inside (heads off, temperature, patching) equal NumPy, ablation, and a plain network's hook."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from torch import nn

from models.errors import InputError
from models.explain.what_if import without
from models.inside.look import look_inside
from models.inside.outputs import Answers, Patched
from models.inside.reading import layers_of, read
from models.inside.turning import TEMPERATURES, patch, temperatures, turn_block, turn_query
from models.outputs.attention import SwitchedOff
from models.registry import Task
from models.tasks.base import AnyTaskModel
from tests.models.conftest import BundledModel, TinyModel
from tests.models.inside_cases import BUNDLED, TAKEN_APART, TEXTS, over_cases

WITHIN = 1e-5
LAYER, HEAD = 1, 1
PAIR = ("clearhead-pairs", "encoder", "A man plays a guitar. [SEP] A man makes music.")


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits.astype(np.float64) - logits.max())
    return powers / powers.sum()


def side_of(model: AnyTaskModel) -> str:
    """The side whose layers are turned: the one that reads the text."""
    return model.checkpoint.task.kinds[0] if model.checkpoint.task is not Task.TRANSLATION else "encoder"


def turned(model: AnyTaskModel, text: str, head_scale: float, feed_forward: float) -> Answers:
    place = read(model, text).guess_at
    return turn_block(model, text, LAYER, HEAD, place, head_scale=head_scale, feed_forward=feed_forward)


def last_guesses(model: AnyTaskModel, text: str) -> dict[str, float]:
    """The model's likeliest answers, as step 6 has them."""
    lens = look_inside(model, text, position=0 if model.checkpoint.task is Task.TRANSLATION else -1).lens
    assert lens is not None
    return {each.text: each.probability for each in lens.layers[-1].guesses}


def check_answer(answers: Answers, case: int, expected: dict[str, float]) -> None:
    shares = dict(zip(answers.choices, answers.probabilities[case].tolist(), strict=True))
    assert {name: shares[name] for name in expected} == pytest.approx(expected, abs=WITHIN)


@contextmanager
def zeroed(part: nn.Module) -> Iterator[None]:
    """While it is open, nothing comes out of a linear map."""
    kept = [each.detach().clone() for each in part.parameters()]
    with torch.no_grad():
        for each in part.parameters():
            each.zero_()
    try:
        yield
    finally:
        with torch.no_grad():
            for each, before in zip(part.parameters(), kept, strict=True):
                each.copy_(before)


@over_cases(
    *(each for each in [*BUNDLED, PAIR] if each[:2] != ("clearhead-en-fr", "decoder")),
    *(each for each in TAKEN_APART if each[0] is not Task.TRANSLATION),
)
def test_parts_are_turned_off_and_back(looked_at: tuple[AnyTaskModel, str, str]) -> None:
    model, text, _ = looked_at
    untouched = last_guesses(model, text)
    as_it_is = turned(model, text, 1, 1)
    assert np.array_equal(*as_it_is.probabilities)
    check_answer(as_it_is, 0, untouched)

    off = turned(model, text, 0, 1)
    with without(model, SwitchedOff(side_of(model), LAYER, HEAD)):
        check_answer(off, 1, last_guesses(model, text))
    no_feed_forward = turned(model, text, 1, 0)
    with zeroed(layers_of(model, side_of(model))[LAYER].outer):
        check_answer(no_feed_forward, 1, last_guesses(model, text))
    for answers in (off, no_feed_forward):
        check_answer(answers, 0, untouched)
        assert not np.array_equal(*answers.probabilities)
    assert last_guesses(model, text) == untouched


@pytest.mark.parametrize(("name", "kind", "text"), BUNDLED)
def test_a_number_of_a_query_moves_the_weights_as_by_hand(
    name: str, kind: str, text: str, bundled: BundledModel
) -> None:
    look = look_inside(bundled(name), text, LAYER, HEAD, kind=kind)
    head, token = look.numbers, look.position
    for component, added in ((0, 2.5), (head.width - 1, -4.0)):
        query = head.queries[token].astype(np.float64)
        query[component] += added
        scores = head.keys.astype(np.float64) @ query / head.divisor
        by_hand = softmax(np.where(head.masked[token], -np.inf, scores))
        seen = turn_query(look, component, added)
        assert seen.after == pytest.approx(by_hand, abs=WITHIN)
        assert seen.value == pytest.approx(query[component])
    still = turn_query(look, 0, 0)
    assert still.after == pytest.approx(look.numbers.weights[token], abs=1e-6)
    moved = [np.abs(turn_query(look, each, 1).after - still.before).sum() for each in range(head.width)]
    assert still.strongest == int(np.argmax(moved))
    assert max(moved) > 0
    with pytest.raises(InputError, match="is not there"):
        turn_query(look, head.width, 0)


@pytest.mark.parametrize(("name", "text"), [("clearhead-minilm", BUNDLED[0][2]), ("clearhead-stories", BUNDLED[-1][2])])
def test_temperature_and_entropy_are_those_of_numpy(name: str, text: str, bundled: BundledModel) -> None:
    model = bundled(name)
    reading = read(model, text)
    seen = temperatures(model, text, reading.guess_at)
    with torch.inference_mode():
        logits = model.network(**reading.network_inputs).logits[0, reading.guess_at].numpy()
    for at in (0, 10, 18, len(TEMPERATURES) - 1):
        shares = softmax(logits / TEMPERATURES[at])
        likeliest = np.sort(shares)[::-1][: len(seen.answers.choices)]
        assert seen.answers.probabilities[at] == pytest.approx(likeliest, abs=WITHIN)
        some = shares[shares > 0]
        assert seen.entropies[at] == pytest.approx(-(some * np.log2(some)).sum(), abs=1e-3)
    assert np.all(np.diff(seen.entropies) > 0)
    check_answer(seen.answers, 18, last_guesses(model, text))


def word(model: AnyTaskModel, text: str, piece: str) -> int:
    return [token.text.strip().lower() for token in read(model, text).tokens].index(piece)


PATCHES = [
    ("clearhead-minilm", "The capital of France is [MASK].", "france", "The capital of Italy is [MASK].", "italy"),
    ("clearhead-sentiment", "The film was wonderful.", "wonderful", "I think the play is terrible.", "terrible"),
    ("clearhead-stories", "One day, Lily went to the park with", "lily", "One day, Tom went to the park with", "tom"),
    ("clearhead-names", "Ada lives in Lisbon.", "ada", "The dog lives in Lisbon.", "dog"),
    ("clearhead-pairs", PAIR[2], "guitar", "A man plays a game. [SEP] A man makes music.", "game"),
]


def plainly(model: AnyTaskModel, there: str, first: int, here: str, second: int, layer: int) -> torch.Tensor:
    """The logits of the network on `here` with one vector exchanged before the first layer, or after number `layer`."""
    of_there, of_here = read(model, there), read(model, here)
    layers = [each.layer for each in layers_of(model, of_here.kind)]
    with torch.inference_mode():
        states = model.network(**of_there.network_inputs, output_hidden_states=True).hidden_states

        def exchange(vectors: torch.Tensor) -> torch.Tensor:
            changed = vectors.clone()
            changed[0, second] = states[layer][0, first]
            return changed

        if layer:
            hook = layers[layer - 1].register_forward_hook(lambda _m, _in, output: exchange(output))
        else:
            hook = layers[0].register_forward_pre_hook(lambda _m, inputs: (exchange(inputs[0]), *inputs[1:]))
        try:
            logits: torch.Tensor = model.network(**of_here.network_inputs).logits[0]
        finally:
            hook.remove()
    return logits


@pytest.mark.parametrize(("name", "there", "first", "here", "second"), PATCHES)
def test_a_patched_state_answers_as_the_plain_network_with_a_hook(
    name: str, there: str, first: str, here: str, second: str, bundled: BundledModel
) -> None:
    model = bundled(name)
    places = word(model, there, first), word(model, here, second)
    seen: Patched = patch(model, there, places[0], here, places[1])
    for case, text in enumerate((there, here)):
        guesses = last_guesses(model, text).items()
        check_answer(seen.answers, case, {name: share for name, share in guesses if name in seen.answers.choices})
    layers = len(layers_of(model, side_of(model)))
    assert len(seen.answers.probabilities) == layers + 3
    if name in ("clearhead-minilm", "clearhead-stories", "clearhead-names"):
        # transformers gives GPT-2's last state normed, so its last layer is left out.
        for layer in range(layers):
            logits = plainly(model, there, places[0], here, places[1], layer)[read(model, here).guess_at]
            shares = np.sort(softmax(logits.numpy()))[::-1]
            ours = seen.answers.probabilities[layer + 2]
            assert ours.max() == pytest.approx(shares[0], abs=WITHIN)
    if name == "clearhead-sentiment":
        logits = plainly(model, there, places[0], here, places[1], 4) / model.settings.calibration.temperature
        assert np.sort(seen.answers.probabilities[6]) == pytest.approx(np.sort(softmax(logits.numpy())), abs=WITHIN)
    # Read elsewhere than at the word itself, the last state comes too late.
    assert seen.answers.probabilities[-1] == pytest.approx(seen.answers.probabilities[1], abs=WITHIN)
    assert not np.allclose(seen.answers.probabilities[2], seen.answers.probabilities[1], atol=WITHIN)


@pytest.mark.parametrize(("name", "there", "first"), [case[:3] for case in PATCHES])
def test_a_text_patched_into_itself_answers_as_before(name: str, there: str, first: str, bundled: BundledModel) -> None:
    model = bundled(name)
    place = word(model, there, first)
    shares = patch(model, there, place, there, place).answers.probabilities
    assert np.abs(shares - shares[0]).max() < WITHIN


@pytest.mark.parametrize(
    ("architecture", "task"),
    [(name, task) for task, name, _ in TAKEN_APART if task in (Task.FILL_MASK, Task.COMPLETION)],
    ids=str,
)
def test_every_architecture_patched_into_itself_answers_as_before(
    architecture: str, task: Task, tiny: TinyModel
) -> None:
    model, text = tiny(architecture, task), TEXTS[task]
    shares = patch(model, text, 1, text, 1).answers.probabilities
    assert np.abs(shares - shares[0]).max() < WITHIN


@pytest.mark.parametrize("name", ["clearhead-en-fr", "clearhead-qa"])
def test_models_whose_choices_differ_from_text_to_text_are_refused(name: str, bundled: BundledModel) -> None:
    with pytest.raises(InputError, match="fills blanks, writes on or gives labels"):
        patch(bundled(name), "A dog.", 1, "A cat.", 1)
