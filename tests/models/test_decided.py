"""The layer that decided each token: the logit lens agrees with transformers' own hidden states and with Inside."""

import pytest
import torch

from models.inside.lens import decided_layers
from models.inside.look import look_inside
from models.outputs import generated_ids
from models.registry import Task
from models.tasks.text_generation import TextGenerationInput
from tests.models.conftest import BundledModel, TinyModel

BEGINNING = TextGenerationInput("Once upon a time", max_new_tokens=12, strategy="sample", seed=1)


def test_a_token_is_decided_where_final_norm_and_head_first_make_its_logit_the_greatest(bundled: BundledModel) -> None:
    model = bundled("clearhead-stories")
    output = model.answer(BEGINNING)
    written = generated_ids(output)
    network, ids = model.network, torch.tensor([[*(token.id for token in output.tokens), *written]])
    with torch.inference_mode():
        states = network(ids, output_hidden_states=True).hidden_states
        logits = network(ids).logits[0]
    first = len(output.tokens) - 1
    for place, (token, layer) in enumerate(zip(written, decided_layers(model, BEGINNING, written), strict=True)):
        at = first + place
        # The last hidden state is normed already; of the others, the embeddings are no layer's.
        read = [network.lm_head(network.transformer.ln_f(each[0, at])) for each in states[1:-1]] + [logits[at]]
        wins = [number for number, each in enumerate(read) if int(each.argmax()) == token]
        assert layer == (wins[0] if wins else None)


def test_it_is_the_layer_that_inside_shows(bundled: BundledModel) -> None:
    model = bundled("clearhead-stories")
    greedy = TextGenerationInput("Once upon a time", max_new_tokens=1, strategy="greedy")
    output = model.answer(greedy)
    (layer,) = decided_layers(model, greedy, generated_ids(output))
    seen = look_inside(model, "Once upon a time").lens
    assert seen is not None and layer is not None, "what greedy search writes is the likeliest after the last layer"
    # Inside counts what stands before the first layer as layer 0.
    best = [each.guesses[0].text for each in seen.layers[1:]]
    assert best[layer] == output.generated[0].token.text
    assert output.generated[0].token.text not in best[:layer]


@pytest.mark.parametrize("architecture", ["gpt2", "openai-gpt"])
def test_every_writer_is_read_and_no_token_needs_no_pass(architecture: str, tiny: TinyModel) -> None:
    model = tiny(architecture, Task.COMPLETION)
    inputs = TextGenerationInput("The boats turned", max_new_tokens=4, strategy="greedy")
    written = generated_ids(model.answer(inputs))
    layers = decided_layers(model, inputs, written)
    assert len(layers) == len(written)
    assert None not in layers, "greedy search writes what the last layer finds likeliest"
    assert decided_layers(model, inputs, ()) == ()
