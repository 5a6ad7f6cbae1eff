"""The whole model in one picture: at the sizes of its configuration, with its own vectors, and with the step marked."""

import re

import numpy as np
import pytest
import torch

from demo.walk.steps import STEPS
from demo.walk.whole import whole_picture
from models.inside.look import vectors_through
from models.inside.parameters import sizes_of
from models.loading.store import load_model
from models.registry import REGISTRY, find


@pytest.mark.parametrize(
    ("name", "layers", "heads", "marked"),
    [
        ("clearhead-minilm", 6, 12, {"tokens", "vectors", "head", "masking", "block", "guess", "counting"}),
        ("clearhead-stories", 8, 6, {"tokens", "vectors", "head", "masking", "block", "guess", "counting"}),
        ("clearhead-en-fr", 4, 8, {step.key for step in STEPS}),
    ],
)
def test_layers_and_heads_are_the_models_own_and_each_step_has_its_part(
    name: str, layers: int, heads: int, marked: set[str]
) -> None:
    checkpoint, sizes = REGISTRY[name], sizes_of(REGISTRY[name].folder)
    found = set()
    for step in STEPS:
        picture = whole_picture(checkpoint, sizes, step.key, layer=2)
        assert len(re.findall('class="layer', picture)) == layers and picture.count("<i></i>") == layers * heads
        here = re.findall(r'data-step="(\w+)"[^>]*aria-current', picture)
        assert here in ([step.key], [])
        found |= set(here)
        assert picture.count("layer chosen") == 1
    assert found == marked


def test_the_vectors_that_run_through_are_those_of_the_network() -> None:
    model = load_model("clearhead-minilm")
    text, position = "The cat sleeps.", 2
    found = vectors_through(model, text, position)
    inputs = {"input_ids": torch.tensor([model.tokenizer.encode(text).ids])}
    with torch.inference_mode():
        states = model.network.base_model(**inputs, output_hidden_states=True).hidden_states
    np.testing.assert_allclose(found, np.stack([each[0, position].numpy() for each in states]), atol=1e-5)
    picture = whole_picture(find("fill-mask"), sizes_of(model.folder), "block", 0, found)
    assert picture.count('class="way"') == len(states)
