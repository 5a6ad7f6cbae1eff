"""The loop that writes a text token by token, and the record of every step."""

import codecs
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from models.decoding.sampling import GenerationSettings, Sampling, barred, best, log_softmax, without
from models.engine import Engine, Ids, Logits
from models.outputs.writing import Alternative, GeneratedToken
from models.text.tokenizer import Tokenizer, bytes_of_pieces, read_tokens


class DecoderState:
    """Rows of ids that grow from `ids` `[row, token]` on; an encoder-decoder reads its `source` `[1, token]` once."""

    def __init__(self, engine: Engine, ids: Ids, source: Ids | None = None) -> None:
        self.rows: list[list[int]] = ids.tolist()
        self._text = engine.start(source)
        self._unread = ids

    def next_logits(self) -> Logits:
        """Read the ids that have not been read yet; return the logits `[row, vocabulary]` of every row's next token."""
        return self._text.read(self._unread)

    def append(self, ids: Sequence[int]) -> None:
        """Write one id at the end of each row."""
        for row, new in zip(self.rows, ids, strict=True):
            row.append(new)
        self._unread = np.array(ids, dtype=np.int64)[:, None]

    def reorder(self, rows: Sequence[int]) -> None:
        """Go on from `rows`: row i becomes what row `rows[i]` was; rows may be repeated or dropped."""
        if list(rows) == list(range(len(self.rows))):
            return
        self._text.reorder(rows)
        self.rows = [list(self.rows[row]) for row in rows]


class WholeCharacters:
    """A constraint that bars tokens whose bytes cannot continue the text as UTF-8, and an end within a character."""

    def __init__(self, pieces: Sequence[bytes | None]) -> None:
        self._pieces = pieces
        self._barred: dict[bytes, frozenset[int]] = {}

    def barred(self, written: Sequence[int]) -> frozenset[int]:
        """Return the ids that may not follow the `written` ones."""
        tail = self._unfinished(written)
        if tail not in self._barred:
            self._barred[tail] = frozenset(
                token_id for token_id, piece in enumerate(self._pieces) if not _follows(tail, piece)
            )
        return self._barred[tail]

    def _unfinished(self, written: Sequence[int]) -> bytes:
        """Return the bytes of an unfinished character at the end of the text, at most three."""
        last = [self._pieces[token_id] if token_id < len(self._pieces) else None for token_id in written[-3:]]
        decoder = codecs.getincrementaldecoder("utf-8")(errors="ignore")
        decoder.decode(b"".join(b" " if each is None else each for each in last)[-3:])
        return decoder.getstate()[0]


def byte_rule(tokenizer: Tokenizer, size: int) -> WholeCharacters | None:
    """The constraint that keeps a model of `size` scores from breaking characters; None if no piece is part of one."""
    rule = WholeCharacters(bytes_of_pieces(tokenizer, size))
    return rule if rule.barred(()) else None


def _follows(tail: bytes, piece: bytes | None) -> bool:
    """Return whether a piece may follow a text that ends with the unfinished character `tail`."""
    if piece is None:
        return not tail
    try:
        codecs.getincrementaldecoder("utf-8")().decode(tail + piece)
    except UnicodeDecodeError:
        return False
    return True


ALTERNATIVES = 10


@dataclass(frozen=True)
class Step:
    """One chosen token, as the ids and numbers of its `GeneratedToken`.

    `alternatives` are ids with their probabilities, likeliest first, without those that would break a character;
    `shares` are the probabilities that the token and then its alternatives were drawn with, if it was sampled.
    """

    id: int
    probability: float
    alternatives: tuple[tuple[int, float], ...]
    shares: tuple[float, ...] = ()
    left: int = 0
    barred: tuple[int, ...] = ()
    copied: bool = False


@dataclass(frozen=True, eq=False)
class Chooser:
    """The choice of each next token: the likeliest that the checkpoint's `settings` allow, or one drawn by `sampling`.

    A text has at most `max_length` ids. A `guard` above 0 keeps runs of that many tokens from being drawn a third time
    (see `models/decoding/sampling.py`). `characters` bars tokens that would break a character.
    """

    settings: GenerationSettings
    max_length: int
    sampling: Sampling | None = None
    guard: int = 0
    characters: WholeCharacters | None = None

    def step(self, written: Sequence[int], logits: Logits, given: int | None = None) -> Step:
        """Choose the token after the `written` ones by its `logits` `[vocabulary]`, or take the `given` one."""
        broken = self.characters.barred(written) if self.characters else frozenset[int]()
        loops = tuple(barred(written, self.guard)) if self.guard else ()
        free = without(logits, broken.union(loops))
        scores = self.settings.processed([written], free[None], self.max_length)[0]
        own = log_softmax(logits)
        alternatives = alternatives_of(own, broken)
        if self.sampling is None:
            chosen = int(scores.argmax()) if given is None else given
            return Step(chosen, float(np.exp(own[chosen])), alternatives)
        shares = self.sampling.shares(scores)
        chosen = self.sampling.draw(shares) if given is None else given
        shown = tuple(shares[[chosen, *(other for other, _ in alternatives)]].tolist())
        return Step(chosen, float(np.exp(own[chosen])), alternatives, shown, int(np.count_nonzero(shares)), loops)


def write(state: DecoderState, chooser: Chooser, max_new_tokens: int) -> Iterator[Step]:
    """Write up to `max_new_tokens` tokens; an end token is one of them and ends the text. Raises `Stopped`."""
    for _ in range(max_new_tokens):
        (logits,) = state.next_logits()
        step = chooser.step(state.rows[0], logits)
        yield step
        if step.id in chooser.settings.end_ids:
            return
        state.append([step.id])


def reread(chooser: Chooser, ids: Ids, logits: Logits, prompt_length: int) -> tuple[Step, ...]:
    """The steps of `ids` `[1, token]` after the prompt, as if written now, from `logits` `[token, vocabulary]`."""
    written = ids[0].tolist()
    return tuple(
        chooser.step(written[:position], logits[position - 1], given=written[position])
        for position in range(prompt_length, len(written))
    )


def alternatives_of(log_probabilities: Logits, barred: Collection[int]) -> tuple[tuple[int, float], ...]:
    """The likeliest tokens that are not `barred`, with their probabilities, from `log_probabilities` `[vocabulary]`."""
    free = without(log_probabilities, barred)
    places = best(free, ALTERNATIVES)
    places = places[np.isfinite(free[places])]
    return tuple(zip(places.tolist(), np.exp(free[places]).tolist(), strict=True))


_UNFINISHED = "\ufffd"
"""The character that decoders write for bytes of an unfinished character."""


def generated_tokens(
    tokenizer: Tokenizer,
    steps: Sequence[Step],
    decode: Callable[[list[int]], str],
    before: Sequence[int] = (),
    start: int = 0,
) -> tuple[GeneratedToken, ...]:
    """Return the token of each step with its likeliest alternatives and its offsets in the text.

    The offsets are found by decoding the text up to each token; a character whose bytes are in several tokens belongs
    to the last of them. `before` are the ids written before, which end at the character `start`.
    """
    written, generated = list(before), []
    for step in steps:
        written.append(step.id)
        end = max(start, len(decode(written).rstrip(_UNFINISHED)))
        token, *others = read_tokens(tokenizer, [step.id, *(other for other, _ in step.alternatives)])
        own, *drawn = step.shares or (None,) * (len(others) + 1)
        alternatives = tuple(
            Alternative(each.text, probability, each.id, share)
            for each, (_, probability), share in zip(others, step.alternatives, drawn, strict=True)
        )
        placed = replace(token, start=start, end=end)
        generated.append(
            GeneratedToken(placed, step.probability, alternatives, own, step.left, step.barred, step.copied)
        )
        start = end
    return tuple(generated)
