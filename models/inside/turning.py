"""Change a part of the network and compare answers: scale it, set the temperature, patch in another text's state."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from models.engine.pytorch import array
from models.errors import InputError, require_there
from models.inside.formulas import at_temperatures, strongest_component, turned_shares
from models.inside.lens import Choices, choices
from models.inside.outputs import Answers, Look, Numbers, Patched, Temperatures, TurnedQuery
from models.inside.reading import LayerParts, NetworkInput, kinds_of, layers_of, read, record
from models.tasks.base import AnyTaskModel
from models.tasks.question_answering import QuestionAnswering
from models.tasks.translation import Translation
from models.wording import Sentence

TEMPERATURES = np.linspace(0.1, 3, 59, dtype=np.float32)
_TOP = 5
_TOP_PATCHED = 2
_NO_CHOICES = Sentence(
    "{model} chooses among the words of its text, or writes a whole one. Please choose a model that fills blanks, "
    "writes on or gives labels."
)


def turn_query(look: Look, component: int, added: float) -> TurnedQuery:
    """The followed token's attention weights with `added` to component `component` of its query, from 0."""
    head, token = look.numbers, look.position
    require_there("number", component, head.width)
    query = head.queries[token]
    value = float(query[component]) + added
    return TurnedQuery(
        look.tokens, token, query, component, value,
        head.weights[token],
        turned_shares(head, token, component, value),
        strongest_component(head, token),
    )  # fmt: skip


def turn_block(
    model: AnyTaskModel, text: str, layer: int, head: int, position: int, *, head_scale: float, feed_forward: float
) -> Answers:
    """The answer as it is, and with the outputs of one head and of the feed-forward layer in `layer` scaled.

    `head_scale` and `feed_forward` are the factors: 0 switches a part off and 1 leaves it as it is. Layers and heads
    are the encoder's, where there is one, and the answer of a translator is its first word. Raises `InputError` for a
    text that cannot be read and for a layer, head or position that is not there.
    """
    reading, position = _to_guess(model, text, position)
    layers = layers_of(model, "encoder" if "encoder" in kinds_of(model) else reading.kind)
    require_there("layer", layer, len(layers))
    require_there("head", head, layers[layer].heads)
    before = record(model, reading)
    after = record(model, reading, lambda: _scaled(layers[layer], head, head_scale, feed_forward))
    vectors = torch.stack([before.vectors[-1], after.vectors[-1]])
    return _answers(model, reading, _chosen(choices(model, reading, before, vectors, position)), _TOP)


def _scaled(parts: LayerParts, head: int, head_scale: float, feed_forward: float) -> Iterator[RemovableHandle]:
    def scale_head(_map: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        mixed = inputs[0].clone()
        size = mixed.shape[-1] // parts.heads
        mixed[..., head * size : (head + 1) * size] *= head_scale
        return (mixed, *inputs[1:])

    yield parts.together.register_forward_pre_hook(scale_head)
    yield parts.outer.register_forward_hook(lambda _map, _inputs, output: output * feed_forward)


def temperatures(model: AnyTaskModel, text: str, position: int) -> Temperatures:
    """The answer and its entropy at each of `TEMPERATURES`; raises `InputError` as `turn_block` does."""
    reading, position = _to_guess(model, text, position)
    recording = record(model, reading)
    guessed = _chosen(choices(model, reading, recording, recording.vectors[-1][None], position))
    probabilities, entropies = at_temperatures(array(guessed.logits[0]), TEMPERATURES)
    answers = _answers(model, reading, guessed, _TOP, probabilities)
    return Temperatures(answers, TEMPERATURES, entropies)


def patch(model: AnyTaskModel, there: str, word_there: int, here: str, word_here: int) -> Patched:
    """The answers to `here` with the state of one token replaced by that of a token of `there`, layer by layer.

    This is activation patching (Zhang and Nanda, 2024; as causal tracing, Meng et al., 2022). Raises `InputError` for
    texts that cannot be read, tokens that are not there, and models whose choices differ from text to text.
    """
    if isinstance(model, Translation | QuestionAnswering):
        raise InputError(Sentence(_NO_CHOICES, model=model.checkpoint.title))
    other, own = read(model, there), read(model, here)
    for reading, word in ((other, word_there), (own, word_here)):
        require_there("token", word, len(reading.tokens))
    states, unpatched = record(model, other), record(model, own)
    vectors = _patched_vectors(model, own, word_here, torch.stack(states.vectors)[:, word_there])
    ends = (
        (other, states, states.vectors[-1][None]),
        (own, unpatched, torch.cat([unpatched.vectors[-1][None], vectors])),
    )
    guessed = [_chosen(choices(model, reading, seen, last, reading.guess_at)) for reading, seen, last in ends]
    together = guessed[1]._replace(logits=torch.cat([each.logits for each in guessed]))
    return Patched(other.tokens[word_there], own.tokens[word_here], _answers(model, own, together, _TOP_PATCHED))


def _patched_vectors(model: AnyTaskModel, reading: NetworkInput, position: int, states: Tensor) -> Tensor:
    """The last layer's output `[case, token, width]`, with state l of `states` `[case, width]` at `position` in case l.

    State 0 replaces the vector in the first layer's input, state l in the output of layer l, from 1. All cases run in
    one batch.
    """
    layers, outputs = layers_of(model, reading.kind), []

    def put(case: int) -> Callable[..., None]:
        def into(_layer: nn.Module, _inputs: tuple[Any, ...], output: Tensor) -> None:
            output[case, position] = states[case]

        return into

    def put_first(_layer: nn.Module, inputs: tuple[Any, ...]) -> None:
        inputs[0][0, position] = states[0]

    batch = {name: each.expand(len(states), -1) for name, each in reading.network_inputs.items()}
    with model.lock, torch.inference_mode(), ExitStack() as hooks:
        hooks.enter_context(layers[0].layer.register_forward_pre_hook(put_first))
        for case, parts in enumerate(layers, start=1):
            hooks.enter_context(parts.layer.register_forward_hook(put(case)))
        last = layers[-1].layer.register_forward_hook(lambda _layer, _inputs, output: outputs.append(output))
        hooks.enter_context(last)
        model.network.base_model(**batch, use_cache=False)
    vectors: Tensor = outputs[0]
    return vectors


def _to_guess(model: AnyTaskModel, text: str, position: int) -> tuple[NetworkInput, int]:
    """`text` as the side that guesses reads it, and the index of the guess, a translator's at its first word."""
    reading = read(model, text)
    place = 0 if isinstance(model, Translation) else position
    require_there("token", place, len(reading.tokens), field="position")
    return reading, place


def _chosen(guessed: Choices | None) -> Choices:
    if guessed is None:
        raise InputError(Sentence("This model guesses nothing here."), "checkpoint")
    return guessed


def _answers(
    model: AnyTaskModel, reading: NetworkInput, guessed: Choices, most: int, probabilities: Numbers | None = None
) -> Answers:
    """The answers with the `most` likeliest choices of each case, the first case's first."""
    shares = array(guessed.logits.softmax(dim=-1)) if probabilities is None else probabilities
    best = dict.fromkeys(
        int(each) for row in shares for each in np.argsort(-row, kind="stable")[:most] if row[each] > 0
    )
    names = tuple(guessed.name(model, choice) for choice in best)
    return Answers(guessed.about, reading.tokens[guessed.position], names, shares[:, list(best)])
