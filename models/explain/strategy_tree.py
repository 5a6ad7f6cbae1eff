"""Grow one tree from greedy search, beam search and sampling over the same prompt, each step as it was weighed."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from models.decoding.beam_search import BeamStep
from models.decoding.generate import Step
from models.errors import InputError
from models.outputs import DecodeTree, StrategyText, TreeNode
from models.tasks.text_generation import STRATEGIES, TextGeneration, TextGenerationInput
from models.text.tokenizer import read_tokens

MAX_TREE_STEPS = 40


@dataclass
class _Place:
    """A node while the tree grows."""

    parent: int
    depth: int
    token_id: int
    log_probability: float
    total: float
    ended: bool
    kept: bool = False
    weighed: bool = False
    strategies: set[str] = field(default_factory=set)


def decode_tree(model: TextGeneration, inputs: TextGenerationInput) -> DecodeTree:
    """The tree of what each strategy weighs and writes for `inputs`, whose own strategy plays no part.

    Raises `InputError` for settings out of range, more than `MAX_TREE_STEPS` steps among them.
    """
    if not 1 <= inputs.max_new_tokens <= MAX_TREE_STEPS:
        raise InputError(f"The number of steps must be from 1 to {MAX_TREE_STEPS}.", "steps")
    tree = _Growing(model)
    texts = []
    for strategy in STRATEGIES:
        encoded = model.preprocess(replace(inputs, strategy=strategy, kept=()))
        steps = tree.search(model.search(encoded)) if strategy == "beam" else model.forward(encoded).steps
        path = tree.follow(steps)
        for node in path:
            tree.places[node].strategies.add(strategy)
        ids = tuple(step.id for step in steps)
        texts.append(StrategyText(strategy, model.text_after(encoded, ids), ids, tree.places[path[-1]].total))
    return DecodeTree(model.identity, inputs.prompt, inputs.num_beams, tree.nodes(), tuple(texts))


class _Growing:
    """The nodes so far, found again by their parent and token, so that texts that begin alike share them."""

    def __init__(self, model: TextGeneration) -> None:
        self._model = model
        self.places = [_Place(-1, 0, -1, 0.0, 0.0, ended=False)]
        self._children: dict[tuple[int, int], int] = {}

    def search(self, searched: Iterable[BeamStep]) -> tuple[Step, ...]:
        """Put everything that beam search weighs into the tree; the steps of its best text."""
        beams = {0: 0}
        best: tuple[Step, ...] = ()
        for each in searched:
            places = {}
            for candidate in each.candidates:
                node = self._child(beams[candidate.beam], candidate.step)
                self.places[node].weighed = True
                self.places[node].kept |= candidate.place >= 0 or candidate.finished
                if candidate.place >= 0:
                    places[candidate.place] = node
            beams = places
            best = each.finished[0].steps if each.finished else ()
        return best

    def follow(self, steps: Sequence[Step]) -> list[int]:
        """The nodes of a text, new ones where it is alone."""
        path = [0]
        for step in steps:
            path.append(self._child(path[-1], step))
        return path[1:]

    def nodes(self) -> tuple[TreeNode, ...]:
        """The finished tree; numbered by depth, so that a parent always comes before its children."""
        order = sorted(range(len(self.places)), key=lambda each: self.places[each].depth)
        number = {old: new for new, old in enumerate(order)} | {-1: -1}
        places = [self.places[old] for old in order]
        tokens = read_tokens(self._model.tokenizer, [place.token_id for place in places[1:]])
        texts = ["", *(token.text for token in tokens)]
        return tuple(
            TreeNode(
                new,
                number[place.parent],
                place.depth,
                text,
                place.token_id,
                place.log_probability,
                place.total,
                place.kept,
                place.weighed,
                place.ended,
                tuple(each for each in STRATEGIES if each in place.strategies),
            )
            for new, (place, text) in enumerate(zip(places, texts, strict=True))
        )

    def _child(self, parent: int, step: Step) -> int:
        known = self._children.get((parent, step.id))
        if known is not None:
            return known
        log_probability = math.log(max(step.probability, _LEAST))
        above = self.places[parent]
        ended = step.id in self._model.end_ids
        total = above.total + log_probability
        self.places.append(_Place(parent, above.depth + 1, step.id, log_probability, total, ended))
        self._children[parent, step.id] = len(self.places) - 1
        return len(self.places) - 1


_LEAST = 1e-45
"""The smallest number of float32: a probability below it reads as zero, whose logarithm no JSON holds."""
