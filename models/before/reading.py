"""Take the answer of each network apart: the terms whose sum it is, computed step by step from the weights.

`read` never calls a network's own forward pass, so that the numbers on the page prove what it does.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from models.before.networks import (
    SPANS,
    Bag,
    ContinuousBag,
    Convolution,
    FineTuned,
    Frozen,
    Generation,
    OfVectors,
    Recurrent,
)
from models.before.weights import Networks, read_ids
from models.outputs.before import Part, Reading, Strip
from models.wording import Sentence

GATES = (Sentence("input gate"), Sentence("forget gate"), Sentence("output gate"))


def read(networks: Networks, generation: Generation, words: list[str]) -> Reading:
    """The terms of the log-odds that the network of `generation` gives a text of `words`, and its inner vectors."""
    network = networks.by_key[generation.key]
    ids = torch.tensor(read_ids(generation, words, networks.vocabulary))
    names, strips = words, list[Strip]()
    if isinstance(network, Bag):
        if generation.key == "bag_of_ngrams":
            spelt = {place: word for word, place in networks.vocabulary.words.items()}
            grams = networks.vocabulary.known_grams(words)
            names = [" ".join(spelt[each] for each in gram) for gram in grams] or [Sentence("(none that it knows)")]
        adds, bias = network.weight.weight[ids, 0], network.bias
    else:
        assert isinstance(network, OfVectors)  # noqa: S101
        weight, bias, vectors = network.out.weight[0], network.out.bias, network.vectors.weight[ids]
        match network:
            case ContinuousBag():
                adds, names, strips = _bag(network, vectors, weight, words)
            case Convolution():
                adds, names = _filters(network, vectors, weight, words)
            case Recurrent():
                adds, strips = _remembered(network, vectors, weight)
            case FineTuned():
                states, _ = unrolled(network.cell, vectors)
                adds = _changes([_pooled(states[: last + 1]) @ weight for last in range(len(words))])
                strips = [Strip(Sentence("state"), states.numpy())]
            case Frozen():
                ahead, back = both_ways(network.cell, vectors)
                features = functional.relu(network.layer(torch.cat([vectors, ahead, back], dim=1)))
                adds = features @ weight / len(words)
                strips = [Strip(Sentence("features of each word"), features.numpy())]
    parts = tuple(Part(name, value) for name, value in zip(names, adds.tolist(), strict=True))
    return Reading(generation.key, bias.item(), parts, tuple(strips))


def _bag(
    network: ContinuousBag, vectors: Tensor, weight: Tensor, words: list[str]
) -> tuple[Tensor, list[str], list[Strip]]:
    """What each word's vector adds or, with hidden layers, each feature of the last one, with names and vectors."""
    found = vectors.mean(dim=0) if network.averaged else vectors.sum(dim=0)
    name = Sentence("mean of the vectors") if network.averaged else Sentence("sum of the vectors")
    strips = [Strip(name, found[None].numpy())]
    if not network.layers:
        return vectors @ weight, words, strips
    for number, layer in enumerate(network.layers, start=1):
        found = layer.get_parameter("weight") @ found + layer.get_parameter("bias")
        found = found.clamp(min=0) if network.averaged else found.tanh()
        strips.append(Strip(Sentence("hidden layer {number}", number=number), found[None].numpy()))
    return found * weight, [Sentence("feature {number}", number=place) for place in range(1, len(found) + 1)], strips


def _filters(network: Convolution, vectors: Tensor, weight: Tensor, words: list[str]) -> tuple[Tensor, list[str]]:
    """The amount that each filter's greatest value adds, and the words of the span where it occurs."""
    values, names = list[Tensor](), list[str]()
    for span, layer in zip(SPANS, network.filters, strict=True):
        around = functional.pad(vectors, (0, 0, span - 1, span - 1))
        places = torch.stack([around[start : start + span].T for start in range(len(words) + span - 1)])
        scores = torch.einsum("fvw,pvw->pf", layer.get_parameter("weight"), places) + layer.get_parameter("bias")
        greatest, best = scores.clamp(min=0).max(dim=0)
        values.append(greatest)
        names += [" ".join(words[max(0, end - span + 1) : end + 1]) for end in best.tolist()]
    return torch.cat(values) * weight, names


def _remembered(network: Recurrent, vectors: Tensor, weight: Tensor) -> tuple[Tensor, list[Strip]]:
    """The change of the log-odds at each word, summed over the directions that are read, and the states."""
    states, gates = unrolled(network.cell, vectors)
    strips = [Strip(Sentence("state"), states.numpy()), *gates]
    adds = _changes(states @ weight[: states.shape[1]])
    if network.cell.bidirectional:
        ahead, back = both_ways(network.cell, vectors)
        adds = adds + _changes((back @ weight[ahead.shape[1] :]).flip(0)).flip(0)
        strips = [
            Strip(Sentence("state, read forwards"), ahead.numpy()),
            Strip(Sentence("state, read backwards"), back.numpy()),
        ]
    return adds, strips


def both_ways(cell: nn.RNNBase, vectors: Tensor) -> tuple[Tensor, Tensor]:
    """The forward and the backward states `[word, state]` after each word."""
    return unrolled(cell, vectors)[0], unrolled(cell, vectors.flip(0), "_reverse")[0].flip(0)


def unrolled(cell: nn.RNNBase, vectors: Tensor, way: str = "") -> tuple[Tensor, list[Strip]]:
    """The states `[word, state]` after each of the `vectors`, and an LSTM's gates, computed word by word.

    Elman: h = tanh(W x + U h + b). LSTM: i, f, o = σ(W x + U h + b), c = f · c + i · tanh(W x + U h + b),
    h = o · tanh(c).
    """
    into, again, bias, other = (
        getattr(cell, f"{name}_l0{way}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    state = memory = torch.zeros(cell.hidden_size)
    states, gates = list[Tensor](), list[tuple[Tensor, Tensor, Tensor]]()
    for vector in vectors:
        mixed = into @ vector + bias + again @ state + other
        if isinstance(cell, nn.LSTM):
            entering, forgetting, fresh, leaving = mixed.chunk(4)
            entering, forgetting, leaving = entering.sigmoid(), forgetting.sigmoid(), leaving.sigmoid()
            memory = forgetting * memory + entering * fresh.tanh()
            state = leaving * memory.tanh()
            gates.append((entering, forgetting, leaving))
        else:
            state = mixed.tanh()
        states.append(state)
    courses = zip(GATES, zip(*gates, strict=True), strict=False)
    return torch.stack(states), [Strip(name, torch.stack(each).numpy()) for name, each in courses]


def _pooled(states: Tensor) -> Tensor:
    """The last state, the mean and the maximum of `states`, concatenated."""
    return torch.cat([states[-1], states.mean(dim=0), states.amax(dim=0)])


def _changes(course: Tensor | Sequence[Tensor]) -> Tensor:
    """The difference of each number from the one before it, of the first from zero."""
    values = course if isinstance(course, Tensor) else torch.stack(list(course))
    return torch.diff(values, prepend=torch.zeros(1))


def reach(network: nn.Module, ids: Sequence[int]) -> tuple[float, ...]:
    """For each word the L2 norm of the gradient of the log-odds with respect to the word's vector."""
    assert isinstance(network, OfVectors)  # noqa: S101
    with torch.inference_mode(False), torch.enable_grad():
        vectors = network.vectors(torch.tensor([list(ids)])).detach().clone().requires_grad_()
        score = network.score(vectors, torch.ones(1, len(ids), dtype=torch.bool))
        (gradient,) = torch.autograd.grad(score.sum(), vectors)
    return tuple(gradient[0].norm(dim=1).tolist())
