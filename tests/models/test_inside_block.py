"""The block and the whole stack, recomputed from their equations: every layer and the logits are the model's own."""

import numpy as np
import pytest
import torch

from models.inside.lens import final_logits
from models.inside.look import compose, look_inside
from models.inside.reading import layers_of, read, record
from models.tasks.base import AnyTaskModel
from models.tasks.question_answering import QuestionAnswering
from tests.models.conftest import BundledModel
from tests.models.inside_cases import BUNDLED, TAKEN_APART, over_cases

WITHIN = 1e-4


@over_cases(*BUNDLED, *TAKEN_APART)
def test_the_stack_is_what_its_equations_say(looked_at: tuple[AnyTaskModel, str, str]) -> None:
    """From the embeddings to the logits, against a plain forward pass without any hook."""
    model, text, kind = looked_at
    reading = read(model, text, kind)
    recording = record(model, reading)
    with torch.inference_mode():
        plain = model.network(**reading.network_inputs, output_hidden_states=True)
    name = f"{kind}_hidden_states" if model.network.config.is_encoder_decoder else "hidden_states"
    own = getattr(plain, name)
    assert len(own) == len(recording.vectors) == len(layers_of(model, kind)) + 1
    vectors = recording.vectors[0]
    torch.testing.assert_close(vectors, own[0][0], atol=1e-6, rtol=0)
    for layer, parts in enumerate(recording.parts):
        cross = recording.cross[layer] if recording.cross else None
        # Each layer from what the layers before it were worked out to be, never from the model's own numbers.
        vectors = compose(parts, vectors, parts.masked(len(reading.tokens), kind), cross).output
        torch.testing.assert_close(vectors, recording.vectors[layer + 1], atol=WITHIN, rtol=WITHIN)
        if not parts.norm_first or layer + 1 < len(recording.parts):
            torch.testing.assert_close(vectors, own[layer + 1][0], atol=WITHIN, rtol=WITHIN)
    if kind == "encoder" and model.network.config.is_encoder_decoder:
        return
    logits = plain.start_logits if isinstance(model, QuestionAnswering) else plain.logits
    torch.testing.assert_close(final_logits(model, recording, vectors[None]), logits, atol=WITHIN, rtol=WITHIN)


@pytest.mark.parametrize(("name", "kind", "text"), BUNDLED, ids=str)
def test_a_tokens_way_through_the_block_has_the_sizes_it_says(
    name: str, kind: str, text: str, bundled: BundledModel
) -> None:
    for layer in range(3):
        look = look_inside(bundled(name), text, layer, kind=kind)
        block, stages = look.block, {stage.name: stage.vector for stage in look.block.stages}
        assert block.deviation < WITHIN
        assert block.heads * block.head_width == block.width == len(stages["input"])
        assert len(stages["heads, concatenated"]) == block.width
        assert len(stages["widened"]) == len(stages["activated"]) == block.inner_width == 4 * block.width
        np.testing.assert_allclose(stages["input added"], stages["input"] + stages["projected"], atol=1e-6)
        head = slice(0, block.head_width)
        np.testing.assert_allclose(stages["heads, concatenated"][head], look.numbers.outputs[look.position], atol=1e-6)
        assert block.norm_first == (name == "clearhead-stories")
        assert ("look at the source added" in stages) == (name == "clearhead-en-fr" and kind == "decoder")
        assert block.activation == ("SiLU" if name == "clearhead-en-fr" else "GELU")


def test_the_path_starts_at_the_input_and_the_blank_goes_farthest_from_it(bundled: BundledModel) -> None:
    model = bundled("clearhead-minilm")
    look = look_inside(model, "She turned the [MASK] and opened the door.")
    assert look.path.norms.shape == look.path.cosines.shape == (look.layers + 1, len(look.tokens))
    np.testing.assert_allclose(look.path.cosines[0], 1, atol=1e-5)
    assert (np.abs(look.path.cosines) <= 1 + 1e-5).all()
    # What the blank becomes is a word's vector: it keeps least of where it began.
    assert look.tokens[int(look.path.cosines[-1].argmin())].text == "[MASK]"
    with torch.inference_mode():
        own = model.network.base_model(
            input_ids=torch.tensor([[token.id for token in look.tokens]]), output_hidden_states=True
        ).hidden_states
    np.testing.assert_allclose(look.path.norms, torch.cat(own).norm(dim=-1).numpy(), rtol=1e-4)
    np.testing.assert_allclose(
        look.path.cosines, torch.cosine_similarity(torch.cat(own), own[0], dim=-1).numpy(), atol=1e-4
    )
