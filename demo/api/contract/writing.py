"""The answers of the endpoints that write: translations, completions, the tree of strategies."""

from typing import TypedDict

from demo.api.contract.base import Answered, CheckpointUsed


class ScoredText(TypedDict):
    """A text and its score: the mean log-probability of its tokens; of several sentences, the mean of theirs."""

    text: str
    score: float


class TokenProbability(TypedDict):
    """A token, its id, and the model's own probability of it.

    `drawn` is its share after temperature and cut-offs, null where the likeliest is taken and nothing is drawn.
    """

    token: str
    id: int
    probability: float
    drawn: float | None


class WrittenToken(TokenProbability):
    """A token that was written, and the likeliest others there; `left` is the number of tokens it was drawn from.

    `barred` are the ids of the tokens that the loop guard cut. `copied` is true for a token that had to continue a part
    of the text to translate.
    """

    alternatives: list[TokenProbability]
    left: int
    barred: list[int]
    copied: bool


class Translations(Answered):
    """The beam's texts, best first, the tokens of the best, and `notes` on how the text was read or copied from."""

    translations: list[ScoredText]
    tokens: list[WrittenToken]
    notes: list[str]


class Completion(Answered):
    """The text after the prompt, token by token; `finished` is false for a run that was stopped."""

    text: str
    tokens: list[WrittenToken]
    candidates: list[ScoredText]
    finished: bool


class Node(TypedDict):
    """A token after its `parent` (node 0, the prompt, has -1); log-probabilities are natural and the model's own.

    `kept` says whether beam search went on with this draft or finished it, `weighed` whether it looked at it at all;
    `strategies` are those whose final text holds it.
    """

    id: int
    parent: int
    token: str
    token_id: int
    step: int
    log_probability: float
    total: float
    kept: bool
    weighed: bool
    ended: bool
    strategies: list[str]


class StrategyResult(TypedDict):
    """The text that a strategy wrote after the prompt, and the log-probability of all of it."""

    strategy: str
    text: str
    log_probability: float


class Tree(TypedDict):
    """The nodes, each after its parent, and the texts of greedy search, beam search and sampling."""

    checkpoint: CheckpointUsed
    nodes: list[Node]
    texts: list[StrategyResult]
