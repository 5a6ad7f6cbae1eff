"""Before Transformers: each view shows what its model computes, equal to plain worked computations."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from models import before
from models.before.networks import GENERATIONS, Generation
from models.before.reading import both_ways, reach, read, unrolled
from models.before.weights import Networks, load_networks, read_ids, untrained
from models.before.words import UNKNOWN, Vocabulary, grams_of, words_in, words_of
from models.errors import InputError
from models.loading.assembly import as_task
from models.registry import Task
from models.tasks.generations import BERT, Generations
from tests.models.conftest import BundledModel

LECTURE = "There's nothing I don't love about this movie"
TEXTS = (LECTURE, "bad", "A dull, zzyzx plot … 🦊 and it's won't-fix!", "great film " * 60)
EVERY = pytest.mark.parametrize("generation", GENERATIONS, ids=lambda each: each.key)


@pytest.fixture(scope="module")
def networks() -> Networks:
    return load_networks(before.FOLDER)


@pytest.fixture
def model(bundled: BundledModel) -> Generations:
    found = as_task(bundled("clearhead-sentiment"), Task.GENERATIONS)
    assert isinstance(found, Generations)
    return found


def by_key(key: str) -> Generation:
    return next(each for each in GENERATIONS if each.key == key)


@EVERY
@pytest.mark.parametrize("text", TEXTS)
def test_the_parts_of_each_view_add_up_to_the_models_own_answer(
    networks: Networks, generation: Generation, text: str
) -> None:
    words = words_of(text)
    reading = read(networks, generation, words)
    assert reading.log_odds == pytest.approx(networks.log_odds(generation, words), abs=1e-5)
    if reading.parts:
        assert reading.course[-1] == pytest.approx(reading.log_odds, abs=1e-9)


@EVERY
def test_what_fills_up_a_shorter_row_changes_nothing(networks: Networks, generation: Generation) -> None:
    ids = [read_ids(generation, words_of(text), networks.vocabulary) for text in TEXTS]
    longest = max(map(len, ids))
    with torch.inference_mode():
        together = networks.by_key[generation.key](torch.tensor([[*row, *[0] * (longest - len(row))] for row in ids]))
    alone = [networks.log_odds(generation, words_of(text)) for text in TEXTS]
    np.testing.assert_allclose(together.numpy(), alone, atol=2e-5)


def test_a_bag_of_words_is_a_sum_of_weights(networks: Networks) -> None:
    bag = networks.by_key["bag_of_words"].state_dict()
    places = [networks.vocabulary.words[word] for word in ("a", "dull", "dull", "film")]
    by_hand = float(bag["bias"]) + sum(float(bag["weight.weight"][place, 0]) for place in places)
    assert networks.log_odds(by_key("bag_of_words"), ["a", "dull", "dull", "film"]) == pytest.approx(by_hand, abs=1e-5)


def test_an_elman_network_is_one_line_of_numpy_for_each_word(networks: Networks) -> None:
    weights = {name: each.numpy() for name, each in networks.by_key["elman"].state_dict().items()}
    state = np.zeros(len(weights["cell.bias_hh_l0"]))
    for place in networks.vocabulary.ids(words_of(LECTURE)):
        state = np.tanh(
            weights["cell.weight_ih_l0"] @ weights["vectors.weight"][place] + weights["cell.bias_ih_l0"]
            + weights["cell.weight_hh_l0"] @ state + weights["cell.bias_hh_l0"]
        )  # fmt: skip
    by_hand = float(weights["out.weight"][0] @ state + weights["out.bias"][0])
    assert networks.log_odds(by_key("elman"), words_of(LECTURE)) == pytest.approx(by_hand, abs=1e-5)


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM])
def test_states_and_gates_are_those_of_torch(kind: type[nn.RNNBase]) -> None:
    torch.manual_seed(0)
    cell, vectors = kind(5, 7, batch_first=True, bidirectional=True), torch.randn(9, 5)  # type: ignore[call-arg]
    with torch.inference_mode():
        torchs = cell(vectors[None])[0][0]
        np.testing.assert_allclose(torch.cat(both_ways(cell, vectors), dim=1), torchs, atol=1e-6)
    if kind is not nn.LSTM:
        return
    one_way = nn.LSTM(5, 7, batch_first=True)
    before_, fresh_ = (torch.zeros(1, 1, 7), torch.zeros(1, 1, 7)), one_way.weight_ih_l0[14:21]
    with torch.inference_mode():
        states, gates = unrolled(one_way, vectors)
        entering, forgetting, leaving = (torch.tensor(strip.rows) for strip in gates)
        for place, vector in enumerate(vectors):
            _, (state, memory) = one_way(vector[None, None], before_)
            again = one_way.weight_hh_l0[14:21] @ before_[0][0, 0] + one_way.bias_hh_l0[14:21]
            fresh = (fresh_ @ vector + one_way.bias_ih_l0[14:21] + again).tanh()
            kept = forgetting[place] * before_[1][0, 0] + entering[place] * fresh
            np.testing.assert_allclose(kept, memory[0, 0], atol=1e-6)
            np.testing.assert_allclose(leaving[place] * memory[0, 0].tanh(), states[place], atol=1e-6)
            np.testing.assert_allclose(state[0, 0], states[place], atol=1e-6)
            before_ = (state, memory)


@pytest.mark.parametrize("key", ["elman", "lstm"])
def test_a_gradients_length_is_how_fast_the_answer_moves_along_it(networks: Networks, key: str) -> None:
    network, ids = networks.by_key[key], networks.vocabulary.ids(words_of(LECTURE))
    seen, vectors = torch.ones(1, len(ids), dtype=torch.bool), network.vectors(torch.tensor([ids])).double()  # type: ignore[operator]
    exact = by_key(key).make(networks.vocabulary.taught).double().eval()
    exact.load_state_dict(network.state_dict())
    for place in (0, len(ids) - 1):
        moved = vectors.repeat(200, 1, 1)
        moved[range(100), place, range(100)] += 1e-5
        moved[range(100, 200), place, range(100)] -= 1e-5
        with torch.inference_mode():
            scores = exact.score(moved, seen.repeat(200, 1))  # type: ignore[operator]
        slope = (scores[:100] - scores[100:]) / 2e-5
        assert reach(network, ids)[place] == pytest.approx(float(slope.norm()), rel=1e-3)


def test_words_are_split_as_the_treebank_splits_them() -> None:
    assert words_of("I don’t love it; there's a can't-miss İ“twist”…") == [
        "i", "do", "n't", "love", "it", ";", "there", "'s", "a", "ca", "n't", "-", "miss", "İ", '"', "twist", '"', "…",
    ]  # fmt: skip
    text = "İt’s DONE"
    assert [text[word.start : word.end] for word in words_in(text)] == ["İt", "’s", "DONE"]
    assert grams_of([5, UNKNOWN, 6, 7]) == [(5,), (6,), (6, 7), (7,)]
    vocabulary = Vocabulary({"film": 2, "umbrella": 3}, 3, {(2,): 2})
    assert vocabulary.ids(["film", "umbrella", "x"]) == [2, UNKNOWN, UNKNOWN]
    assert vocabulary.ids(["film", "umbrella", "x"], pretrained=True) == [2, 3, UNKNOWN]


def test_every_row_has_its_measured_accuracy_and_a_change_is_judged_as_if_alone(model: Generations) -> None:
    output = model(text=LECTURE, changed="There's nothing I love about this movie")
    assert [row.key for row in output.rows] == [*(each.key for each in GENERATIONS), BERT]
    assert all(row.accuracy is not None and 75 < row.accuracy < 95 for row in output.rows)
    alone = model(text="There's nothing I love about this movie")
    assert [row.changed_positive for row in output.rows] == [row.positive for row in alone.rows]
    assert all(row.changed_positive is None and not row.changes_its_mind for row in alone.rows)
    assert output.rows[-1].positive == next(each.score for each in output.scores if each.text == "positive")
    for row, generation in zip(output.rows, GENERATIONS, strict=False):
        log_odds = model.networks.log_odds(generation, words_of(LECTURE))
        assert row.positive == pytest.approx(1 / (1 + math.exp(-log_odds)), abs=1e-6)


def test_unknown_words_are_named_once_and_a_long_change_is_refused_in_its_field(model: Generations) -> None:
    assert model(text="zzyzx film zzyzx").unknown == ("zzyzx",)
    with pytest.raises(InputError) as refused:
        model(text="Fine.", changed="lamp " * 600)
    assert refused.value.field == "changed"


def test_every_gradient_has_a_length_for_each_word_as_it_stands(model: Generations) -> None:
    reading = model.read(model.inputs_type(text=LECTURE))
    assert reading.words == ("There", "'s", "nothing", "I", "do", "n't", "love", "about", "this", "movie")
    assert [each.key for each in reading.reaches] == ["elman", "lstm", BERT]
    assert [each.key for each in reading.untrained] == ["elman", "lstm"]
    for each in (*reading.reaches, *reading.untrained):
        assert len(each.lengths) == len(reading.words)
        assert all(length > 0 for length in each.lengths)
    assert reading.untrained == model.read(model.inputs_type(text=LECTURE)).untrained


def test_before_training_an_elman_networks_gradient_is_a_product_that_vanishes(networks: Networks) -> None:
    generation, ids = by_key("elman"), networks.vocabulary.ids(words_of(LECTURE))
    network = untrained(generation, networks.vocabulary.taught)
    weights = {name: each.double().numpy() for name, each in network.state_dict().items()}
    state, derivatives = np.zeros(len(weights["cell.bias_hh_l0"])), []
    for place in ids:
        state = np.tanh(
            weights["cell.weight_ih_l0"] @ weights["vectors.weight"][place] + weights["cell.bias_ih_l0"]
            + weights["cell.weight_hh_l0"] @ state + weights["cell.bias_hh_l0"]
        )  # fmt: skip
        derivatives.append(1 - state**2)
    gradient, lengths = weights["out.weight"][0], []
    for derivative in reversed(derivatives):
        gradient = gradient * derivative
        lengths.append(float(np.linalg.norm(gradient @ weights["cell.weight_ih_l0"])))
        gradient = gradient @ weights["cell.weight_hh_l0"]
    assert reach(network, ids) == pytest.approx(lengths[::-1], rel=1e-3)
    assert lengths[-1] < lengths[0] / 100
