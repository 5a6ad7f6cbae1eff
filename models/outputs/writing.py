"""Answers of models that write: translations, completions, and the tree of strategies."""

from dataclasses import dataclass

from models.outputs.base import LoadedCheckpoint, Prediction, TaskOutput, Token


@dataclass(frozen=True)
class Alternative(Prediction):
    """A token that could have been written.

    If tokens are sampled, `drawn` is its probability after temperature and cut-offs. `id` is -1 in runs that were
    logged before ids were kept.
    """

    id: int = -1
    drawn: float | None = None


@dataclass(frozen=True)
class GeneratedToken:
    """A written token, its `probability` by the model itself, before temperature and cut-offs, and its alternatives.

    For a sampled token, `drawn` is the probability that it was drawn with and `left` the number of tokens that it was
    drawn from; `barred` are the ids that the loop guard excluded: they would have repeated the last few tokens a third
    time. `copied` marks a token that was not chosen by its probability: it continues a part of the source that had to
    be copied.
    """

    token: Token
    probability: float
    alternatives: tuple[Alternative, ...]
    drawn: float | None = None
    left: int = 0
    barred: tuple[int, ...] = ()
    copied: bool = False


@dataclass(frozen=True)
class TranslationOutput(TaskOutput):
    """The texts of a beam search, best first; they are ranked by their score, the mean log-probability of a token.

    The score of several sentences is the mean of theirs. `tokens` are the source's; `target_tokens` those of the best
    translation, its end token included, and `generated` the same with probabilities and alternatives (empty in runs
    that were logged before it was kept). `notes` are sentences for the reader, on how the text was read and what was
    copied from it.
    """

    translations: tuple[Prediction, ...]
    target_tokens: tuple[Token, ...]
    generated: tuple[GeneratedToken, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class CompletionOutput(TaskOutput):
    """The text that was written after the prompt (`tokens` are the prompt's), token by token.

    `candidates` holds the beam's texts with their scores, best first; it is empty for other strategies. `finished`
    is false while more is being written, and stays false when the visitor stopped it.
    """

    text: str
    generated: tuple[GeneratedToken, ...]
    candidates: tuple[Prediction, ...] = ()
    finished: bool = True


def generated_ids(output: TaskOutput) -> tuple[int, ...]:
    """The ids of the tokens that the model wrote, which attention is captured over; empty for encoder tasks."""
    match output:
        case TranslationOutput():
            return tuple(token.id for token in output.target_tokens)
        case CompletionOutput():
            return tuple(each.token.id for each in output.generated)
        case _:
            return ()


@dataclass(frozen=True)
class TreeNode:
    """A token in a tree of drafts: node 0 is the prompt, and every other node follows its `parent`.

    `log_probability` is the model's own, natural, of this token given those before it; `total` is the sum from the
    root. `kept` says whether beam search continued or finished the draft that ends here, `weighed` whether it
    considered it at all; `strategies` are those whose final text goes through this node, and `ended` marks an end
    token.
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
    """The result of a strategy: its text, the ids of its tokens, and the natural log-probability of the whole."""

    strategy: str
    text: str
    ids: tuple[int, ...]
    log_probability: float


@dataclass(frozen=True)
class DecodeTree:
    """The tree of greedy search, beam search and sampling from one prompt, `texts` in this order, `nodes` by depth."""

    checkpoint: LoadedCheckpoint
    prompt: str
    num_beams: int
    nodes: tuple[TreeNode, ...]
    texts: tuple[StrategyText, ...]
