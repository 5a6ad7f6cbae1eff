"""The tree of texts that strategies of decoding weigh from one prompt. Frozen, and free of torch."""

from dataclasses import dataclass

from models.outputs import LoadedCheckpoint


@dataclass(frozen=True)
class TreeNode:
    """A token in its place: node 0 is the prompt, and every other one stands behind its `parent`.

    `log_probability` is the model's own, natural, of this token after what stands before it; `total` sums it from the
    root. `kept` says whether beam search went on with this draft or finished it, `weighed` whether it looked at it at
    all; `strategies` are those whose final text goes through here, and `ended` marks a token that ends a text.
    """

    id: int
    parent: int
    depth: int
    token: str
    token_id: int
    log_probability: float
    total: float
    kept: bool
    weighed: bool
    ended: bool
    strategies: tuple[str, ...]


@dataclass(frozen=True)
class StrategyText:
    """What a strategy wrote: its text, the ids of its tokens, and the log-probability of it all."""

    strategy: str
    text: str
    ids: tuple[int, ...]
    log_probability: float


@dataclass(frozen=True)
class DecodeTree:
    """Greedy search, beam search and sampling from one prompt; `nodes` come by depth, and each after its parent."""

    checkpoint: LoadedCheckpoint
    prompt: str
    num_beams: int
    nodes: tuple[TreeNode, ...]
    texts: tuple[StrategyText, ...]

    def text_of(self, strategy: str) -> StrategyText:
        """What the strategy of this name wrote."""
        return next(each for each in self.texts if each.strategy == strategy)
