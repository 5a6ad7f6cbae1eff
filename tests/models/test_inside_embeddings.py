"""Step 2 of the tab Inside: the parts add up to the first layer's input, and the positional encoding is the paper's."""

import numpy as np
import pytest
import torch

from models.inside.formulas import sinusoidal
from models.inside.look import POSITIONS_SHOWN, embed
from tests.models.conftest import BundledModel

PAIR = "[CLS] the man [MASK] to the store [SEP] penguin [MASK] are flightless birds [SEP]"
TEXTS = ("The animal didn't cross the street because it was too tired.", PAIR)
NAMES = ("clearhead-minilm", "clearhead-sentiment", "clearhead-qa", "clearhead-en-fr", "clearhead-stories")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", TEXTS)
def test_the_parts_add_up_to_what_the_first_layer_reads(bundled: BundledModel, name: str, text: str) -> None:
    model = bundled(name)
    seen = embed(model, text)
    assert seen.difference < 1e-4
    added = sum(seen.parts.values())
    assert np.abs(added - seen.summed).max() < 1e-4
    # Once more by another way: transformers' own record of what enters the first layer.
    ids = torch.tensor([[token.id for token in seen.tokens]])
    trunk = model.network.base_model
    options = {"token_type_ids": torch.tensor([_segments(seen.tokens)])} if "segment" in seen.parts else {}
    reader = trunk.encoder if model.network.config.is_encoder_decoder else trunk
    with torch.inference_mode():
        states = reader(input_ids=ids, output_hidden_states=True, **options).hidden_states
    made = seen.summed if seen.normed is None else seen.normed
    assert np.abs(states[0][0].numpy() - made).max() < 1e-4


@pytest.mark.parametrize(
    ("name", "parts", "learned"),
    [
        ("clearhead-minilm", ["token", "segment", "position"], True),
        ("clearhead-stories", ["token", "position"], True),
        ("clearhead-en-fr", ["token", "position"], False),
    ],
)
def test_each_architecture_adds_its_own_parts(
    bundled: BundledModel, name: str, parts: list[str], learned: bool
) -> None:
    seen = embed(bundled(name), "A quiet street.")
    assert list(seen.parts) == parts
    assert seen.learned is learned
    assert seen.positions.shape == (POSITIONS_SHOWN, seen.summed.shape[1])
    assert np.array_equal(seen.parts["position"], seen.positions[: len(seen.tokens)])
    assert (seen.normed is not None) is (name == "clearhead-minilm")


def test_no_hook_is_left_behind(bundled: BundledModel) -> None:
    model = bundled("clearhead-minilm")

    def hooks() -> int:
        return sum(len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.network.modules())

    embed(model, "A quiet street.")
    before = hooks()
    embed(model, "A quiet street.")
    assert hooks() == before


def test_the_lectures_robot_has_the_lectures_encoding() -> None:
    expected = [
        [0, 1, 0, 1],
        [0.84147098, 0.54030231, 0.09983342, 0.99500417],
        [0.90929743, -0.41614684, 0.19866933, 0.98006658],
        [0.14112001, -0.9899925, 0.29552021, 0.95533649],
    ]
    assert np.abs(sinusoidal(4, 4, base=100) - expected).max() < 5e-9


def test_the_translation_models_positions_are_the_same_numbers_sines_first(bundled: BundledModel) -> None:
    own = embed(bundled("clearhead-en-fr"), "A quiet street.").positions
    computed = sinusoidal(POSITIONS_SHOWN, own.shape[1])
    rearranged = np.concatenate([computed[:, 0::2], computed[:, 1::2]], axis=1)
    assert np.abs(own - rearranged).max() < 1e-4


def _segments(tokens: tuple) -> list[int]:  # type: ignore[type-arg]
    """0 up to and with the first end mark, 1 behind it."""
    first_end = next(place for place, token in enumerate(tokens) if token.piece == "[SEP]")
    return [int(place > first_end) for place in range(len(tokens))]
