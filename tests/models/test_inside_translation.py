"""Step 7: what the decoder shows is what a plain forward pass says, and the worked scores are right by hand."""

import numpy as np
import pytest
import torch

from models.decoding.sampling import softmax
from models.errors import InputError
from models.inside.formulas import EXAMPLE, additive, bilinear, dot, scaled_dot
from models.inside.look import translation_steps
from tests.models.conftest import BundledModel


@pytest.mark.parametrize("text", ["The animal didn't cross the street because it was too tired.", "Two dogs play."])
def test_each_steps_probabilities_and_weights_are_those_of_a_plain_forward(bundled: BundledModel, text: str) -> None:
    model = bundled("clearhead-en-fr")
    seen = translation_steps(model, text)
    written = [each.token.id for each in seen.generated]
    source = torch.tensor([model.tokenizer.encode(text).ids])
    read = torch.tensor([[model.network.config.decoder_start_token_id, *written[:-1]]])
    with model.lock, torch.inference_mode():
        output = model.network(input_ids=source, decoder_input_ids=read, output_attentions=True)
    shares = output.logits[0].softmax(dim=-1)
    for place, each in enumerate(seen.generated):
        assert each.probability == pytest.approx(float(shares[place, each.token.id]), abs=1e-4)
        assert each.alternatives[0].id == int(shares[place].argmax()) == each.token.id
    expected = torch.stack(output.cross_attentions)[:, 0].numpy()
    assert np.abs(seen.cross - expected).max() < 1e-4
    assert np.abs(seen.cross.sum(axis=-1) - 1).max() < 1e-4
    assert [token.id for token in seen.source] == source[0].tolist()


def test_a_model_that_does_not_translate_says_so(bundled: BundledModel) -> None:
    with pytest.raises(InputError, match="does not translate"):
        translation_steps(bundled("clearhead-minilm"), "Two dogs play.")


def test_the_four_scores_worked_out_by_hand() -> None:
    query, key = np.array([1.0, 2.0, 0.0, 3.0]), np.array([2.0, 1.0, 5.0, 1.0])
    assert dot(query, key) == 2 + 2 + 0 + 3
    assert scaled_dot(query, key) == 7 / 2
    between = np.zeros((4, 4))
    between[1, 2], between[3, 0] = 0.5, 1.0
    assert bilinear(query, key, between) == 2 * 0.5 * 5 + 3 * 1 * 2
    of_query, of_key = np.array([[1.0, 0, 0, 0]]), np.array([[0, 0.5, 0, 0]])
    assert additive(query, key, of_query, of_key, np.array([2.0])) == pytest.approx(2 * np.tanh(1.5))


def test_the_worked_example_gives_the_same_word_most_in_every_way() -> None:
    assert EXAMPLE.scores("dot").tolist() == [2, 4, 6]
    assert EXAMPLE.scores("scaled").tolist() == [1, 2, 3]
    assert EXAMPLE.scores("bilinear").tolist() == [2, 4.5, 5.5]
    expected = [np.tanh(1.5), np.tanh(0.5) + 2 * np.tanh(1.5), np.tanh(1) + 2 * np.tanh(2)]
    assert EXAMPLE.scores("additive") == pytest.approx(expected)
    for way in ("dot", "scaled", "bilinear", "additive"):
        weights = softmax(EXAMPLE.scores(way))
        assert weights.sum() == pytest.approx(1)
        assert EXAMPLE.words[int(weights.argmax())] == "car"
