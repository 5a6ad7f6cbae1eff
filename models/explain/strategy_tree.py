"""Build one tree of the tokens that greedy search, beam search and sampling weigh or write after the same prompt."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from models.decoding.beam_search import BeamStep
from models.decoding.generate import Step
from models.decoding.sampling import LEAST
from models.outputs.writing import DecodeTree, StrategyText, TreeNode
from models.tasks.base import require_between
from models.tasks.text_generation import STRATEGIES, TextGeneration, TextGenerationInput
from models.text.tokenizer import readable
from models.wording import Sentence

MAX_TREE_STEPS = 40


@dataclass
class _Node:
    """A token in the tree while it is built, and its children by their ids."""

    step: Step | None = None
    depth: int = 0
    log_probability: float = 0.0
    total: float = 0.0
    kept: bool = False
    weighed: bool = False
    strategies: set[str] = field(default_factory=set)
    children: dict[int, "_Node"] = field(default_factory=dict)

    def child(self, step: Step) -> "_Node":
        """The child for `step`, added if it is missing, so that texts that begin alike share their nodes."""
        if step.id not in self.children:
            log_probability = math.log(max(step.probability, LEAST))
            self.children[step.id] = _Node(step, self.depth + 1, log_probability, self.total + log_probability)
        return self.children[step.id]


def decode_tree(model: TextGeneration, inputs: TextGenerationInput) -> DecodeTree:
    """The tree of the tokens that each strategy weighs or writes for `inputs`, whose own strategy is ignored.

    Raises `InputError` for settings out of range, such as more than `MAX_TREE_STEPS` steps.
    """
    require_between(1, inputs.max_new_tokens, MAX_TREE_STEPS, "steps", Sentence("The number of steps"))
    root, texts = _Node(), []
    for strategy in STRATEGIES:
        encoded = model.preprocess(replace(inputs, strategy=strategy, kept=()))
        steps = _searched(root, model.search(encoded)) if strategy == "beam" else model.forward(encoded).steps
        node = root
        for step in steps:
            node = node.child(step)
            node.strategies.add(strategy)
        ids = tuple(step.id for step in steps)
        texts.append(StrategyText(strategy, model.text_after(encoded, ids), ids, node.total))
    return DecodeTree(model.identity, inputs.prompt, inputs.num_beams, _numbered(model, root), tuple(texts))


def _searched(root: _Node, search: Iterable[BeamStep]) -> tuple[Step, ...]:
    """Put every candidate of a beam search into the tree, and return the steps of its best text."""
    beams = {0: root}
    for searched in search:
        going_on = {}
        for candidate in searched.candidates:
            node = beams[candidate.beam].child(candidate.step)
            node.weighed = True
            node.kept |= candidate.place >= 0 or candidate.finished
            if candidate.place >= 0:
                going_on[candidate.place] = node
        beams = going_on
    return searched.finished[0].steps


def _numbered(model: TextGeneration, root: _Node) -> tuple[TreeNode, ...]:
    """The nodes numbered by depth, so that a parent always comes before its children."""
    found: list[TreeNode] = []
    level = [(-1, root)]
    while level:
        children = []
        for parent, node in level:
            token_id = node.step.id if node.step else -1
            text = readable(model.tokenizer, token_id) if node.step else ""
            strategies = tuple(each for each in STRATEGIES if each in node.strategies)
            children += [(len(found), child) for child in node.children.values()]
            found.append(
                TreeNode(
                    len(found), parent, node.depth, text, token_id, node.log_probability, node.total, node.kept,
                    node.weighed, token_id in model.generation.end_ids, strategies,
                )
            )  # fmt: skip
        level = children
    return tuple(found)
