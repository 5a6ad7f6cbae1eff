"""The walk's requests, their addresses, and `Inside`, which computes the numbers of each step."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import urlencode

from demo.fields import INSIDE_FIELDS
from demo.language import N_, _, ngettext
from demo.limits import clean_fields, whole_number
from demo.looks import errors_in_a_sentence
from demo.settings import Settings
from demo.web.traces import span
from models.backend import Ask, Asked, Backend, Result, asks
from models.errors import CheckpointUnavailable, InputError
from models.inside.outputs import (
    Answers,
    EmbeddedText,
    Look,
    Numbers,
    ParameterCount,
    Patched,
    Temperatures,
    TokenizedText,
    TranslationSteps,
    TurnedQuery,
)
from models.inside.parameters import Sizes, sizes_of
from models.inside.tokens import FROM_THE_MODEL, SIDE_BY_SIDE, place_to_follow, texts_of, tokenize
from models.registry import REGISTRY, Checkpoint, Task, find

STEP_IN_QUERY = "inside"
"""The query parameter that names the step: `?inside=tokens&text=…`."""

_COUNTED_FROM = "from"
"""The query parameter of what layers, heads and tokens count from: 1, as on the page; without it (old links), 0."""

_COUNTED = {"layer": N_("The layer"), "head": N_("The head"), "position": N_("The position")}
_NUMBER = re.compile(r"-?[0-9]{1,6}")

_MARKED = re.compile(r"([^*]*)\*([^*]*\w[^*]*)\*([^*]*)")
"""A text with one word between asterisks; the groups are the text before it, the word, and the text after it."""

MOST_TOKENS = 64
"""The most tokens that are drawn, so that every step has room to name each of them."""


@dataclass(frozen=True)
class InsideRequest:
    """A request for one step with one text and one checkpoint.

    `layer`, `head` and `position`, that of the followed token, count from 0. The position `FROM_THE_MODEL` stands for
    where the model makes its guess, and numbers below that count from the end.
    """

    step: str
    text: str
    checkpoint: str
    layer: int = 0
    head: int = 0
    position: int = FROM_THE_MODEL

    def to_query(self) -> str:
        """The query string that opens this step, with its question mark; it counts from 1, as the page does."""
        named = asdict(self)
        counted = {name: named[name] + 1 if named[name] >= 0 else named[name] for name in _COUNTED}
        return "?" + urlencode({STEP_IN_QUERY: named.pop("step"), **named, **counted, _COUNTED_FROM: 1})


def from_query(query: Mapping[str, str], otherwise: InsideRequest) -> InsideRequest | None:
    """The request in a query string, completed from `otherwise`; `None` where it names no step."""
    if STEP_IN_QUERY not in query:
        return None
    first = 1 if query.get(_COUNTED_FROM) == "1" else 0
    counted = {
        name: max(0, int(query[name]) - first) if int(query[name]) >= 0 else int(query[name])
        for name in _COUNTED
        if _NUMBER.fullmatch(query.get(name, ""))
    }
    text, checkpoint = query.get("text", otherwise.text), query.get("checkpoint", otherwise.checkpoint)
    return replace(otherwise, step=query[STEP_IN_QUERY], text=text, checkpoint=checkpoint, **counted)


def mark_of(text: str) -> str:
    """A short hash of `text` (12 hexadecimal digits of SHA-256), to notice that a text has changed."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


@dataclass(frozen=True)
class ChosenWord:
    """A token that a visitor chose: its position for `checkpoint` and the text of which `mark_of` is `mark`."""

    checkpoint: str
    mark: str
    position: int

    @classmethod
    def of(cls, request: InsideRequest) -> "ChosenWord":
        """The token that `request` follows."""
        return cls(request.checkpoint, mark_of(request.text), request.position)

    @classmethod
    def read(cls, value: object) -> "ChosenWord | None":
        """The token that `str` wrote as `value`; `None` for anything else."""
        checkpoint, mark, position = (str(value).split(" ") + [""] * 2)[:3]
        return cls(checkpoint, mark, int(position)) if _NUMBER.fullmatch(position) else None

    def __str__(self) -> str:
        return f"{self.checkpoint} {self.mark} {self.position}"


class WalkChoices(NamedTuple):
    """A text's tokens for a checkpoint, and the model's sizes, which limit the choice of token, layer and head."""

    tokens: TokenizedText
    sizes: Sizes


_PUBLISHED = ("BERT", "ModernBERT", "GPT-2", "Llama")
"""The families of published checkpoints that every step can show."""


def checkpoints_inside() -> tuple[Checkpoint, ...]:
    """The checkpoints that can be looked into: the bundled ones, and published ones of some families."""
    return tuple(each for each in REGISTRY.values() if not each.hub_id or each.family in _PUBLISHED)


class Inside:
    """Computes the steps for visitors; safe to call from many threads."""

    def __init__(self, settings: Settings, backend: Backend) -> None:
        self._settings = settings
        self._backend = backend

    def checked(self, request: InsideRequest) -> tuple[InsideRequest, WalkChoices]:
        """Return the request with valid values, and what else can be chosen; loads no network of a bundled model.

        A layer, head or position beyond the last becomes the last, as another model may have fewer. `FROM_THE_MODEL`
        becomes the position that it stands for. Raises `InputError` for a text or a checkpoint that cannot be used.
        """
        checkpoint = next((each for each in checkpoints_inside() if each.name == request.checkpoint), None)
        if checkpoint is None:
            offered = ", ".join(each.name for each in checkpoints_inside())
            raise CheckpointUnavailable(
                _("There is no such model to look into. You can choose among: {offered}.", offered=offered)
            )
        text = clean_fields(INSIDE_FIELDS, {"text": request.text}, self._settings.limits)["text"]
        place = self._choices(checkpoint, text)
        layer, head, position = (whole_number(getattr(request, name), _(said), name) for name, said in _COUNTED.items())
        if position == FROM_THE_MODEL:
            position = place_to_follow(checkpoint.task, place.tokens.pieces)
        count = len(place.tokens.pieces)
        return replace(
            request,
            text=text,
            layer=_within(layer, place.sizes.layers),
            head=_within(head, place.sizes.heads),
            position=_within(position if position >= 0 else position + count, count),
        ), place

    def _choices(self, checkpoint: Checkpoint, text: str) -> WalkChoices:
        """Return the choices; raises `InputError` for too long a text or a published checkpoint not on this host."""
        if not checkpoint.hub_id:
            return WalkChoices(_drawable(checkpoint, tokenize(checkpoint, text)), sizes_of(checkpoint.folder))
        from models.loading.hub import is_downloaded

        if not is_downloaded(checkpoint):
            raise CheckpointUnavailable(
                _(
                    "{model} is not on this host yet. Run it once in the tab of its task, which downloads it; then it "
                    "can be looked into here.",
                    model=checkpoint.title,
                )
            )
        pieces, sizes = self.ask(asks.pieces_and_sizes, checkpoint.name, text)
        return WalkChoices(_drawable(checkpoint, pieces), sizes)

    def follow(self, request: InsideRequest, chosen: ChosenWord) -> InsideRequest:
        """The request with the position of the `chosen` word, found by its characters if the checkpoint has changed.

        The position is `FROM_THE_MODEL` if the text has changed, if another model reads a pair or has no such word, or
        if the word was merely the other model's default.
        """
        left = replace(request, position=FROM_THE_MODEL)
        if chosen.mark != mark_of(request.text):
            return left
        there = replace(request, checkpoint=chosen.checkpoint, position=chosen.position)
        if there.checkpoint == request.checkpoint:
            return there
        if texts_of(request.text) != [request.text]:
            return left
        try:
            before, place = self.checked(there)
            was_left = self.checked(replace(left, checkpoint=chosen.checkpoint))[0]
            pieces = self.checked(left)[1].tokens.pieces
        except InputError:
            return left
        if before.position == was_left.position:
            return left
        word = place.tokens.pieces[before.position]
        same = (at for at, piece in enumerate(pieces) if piece.start < word.end <= piece.end)
        return replace(request, position=next(same, FROM_THE_MODEL))

    def tokens(self, request: InsideRequest, padding: int = 0) -> tuple[TokenizedText, ...]:
        """Step 1: the text as three vocabularies split it; the first, BERT's, reads pairs and has `padding`."""
        first, *others = (REGISTRY[name] for name in SIDE_BY_SIDE)
        return (
            _drawable(first, tokenize(first, request.text, padding)),
            *(_drawable(each, tokenize(each, request.text)) for each in others),
        )

    def embeddings(self, request: InsideRequest) -> EmbeddedText:
        """Step 2: the embeddings of the text, and the parts that they are the sum of."""
        return self.ask(asks.embedding, request.checkpoint, request.text)

    def vectors(self, request: InsideRequest) -> Numbers:
        """The followed token's vector before the first layer and after each, `[layer + 1, width]`."""
        return self.ask(asks.vectors, request.checkpoint, request.text, request.position)

    def look(self, request: InsideRequest, kind: str = "") -> Look:
        """The numbers of one forward pass for the layer, head and token of `request`; raises `InputError`.

        `kind` is one of the model's kinds of self-attention, the first one where it is empty.
        """
        return self.ask(asks.look_inside, request.checkpoint, request.text, *_place(request), kind)

    def look_at_source(self, request: InsideRequest) -> Look:
        """Look at the layers that read the visitor's own text: for a translator, its encoder."""
        return self.look(request, _source_kind(request))

    def look_at_guess(self, request: InsideRequest) -> Look:
        """Look at the layers that make the guess: for a translator, its decoder at the first word."""
        # The guess is the same for all layers and heads, and a decoder may have fewer of them than the encoder.
        return self.look(replace(request, layer=0, head=0, position=0) if _translates(request) else request)

    def turn_query(self, request: InsideRequest, component: int, added: float) -> TurnedQuery:
        """Step 3: the followed token's weights with `added` added to number `component`, from 0, of its query."""
        asked = request.text, _place(request), _source_kind(request), component, added
        return self.ask(asks.turned_query, request.checkpoint, *asked)

    def turn_block(self, request: InsideRequest, feed_forward: float, head_scale: float) -> Answers:
        """Step 5: the answer as it is, and with the chosen layer's feed-forward part and head each times a factor."""
        asked = request.text, _place(request), head_scale, feed_forward
        return self.ask(asks.turned_block, request.checkpoint, *asked)

    def temperatures(self, request: InsideRequest) -> Temperatures:
        """Step 6: the answer at every temperature."""
        return self.ask(asks.temperatures, request.checkpoint, request.text, request.position)

    def patch(self, request: InsideRequest, there: str, here: str) -> Patched:
        """Step 6: the answer to `here` with its marked word's state replaced, one layer at a time, by that in `there`.

        Asterisks mark a word; the state is that of its last token. A model without blanks reads only up to the first
        `[MASK]`. Raises `InputError`.
        """
        blanks = self.ask(asks.knows_blanks, request.checkpoint)
        (text, first), (other, second) = (self._marked(request, each, blanks) for each in (there, here))
        return self.ask(asks.patched, request.checkpoint, text, first, other, second)

    def _marked(self, request: InsideRequest, marked: str, blanks: bool) -> tuple[str, int]:
        """The text without its asterisks, and the position of the marked word's last token; raises `InputError`."""
        marked = marked if blanks else marked.partition("[MASK]")[0].rstrip()
        found = _MARKED.fullmatch(marked.strip())
        if found is None:
            if blanks:
                raise InputError(_("Please put asterisks around one word of each sentence, as in “a *cup* of tea”."))
            raise InputError(
                _("Please put asterisks around one word of each sentence, before its blank, as in “a *cup* of tea”.")
            )
        before, word, after = found.groups()
        checked, place = self.checked(replace(request, text=before + word + after))
        if texts_of(checked.text) != [checked.text]:
            raise InputError(_("Please write single sentences here, without [CLS] and [SEP]."))
        start, end = len(before), len(before + word)
        return checked.text, max(
            number for number, piece in enumerate(place.tokens.pieces) if piece.start < end and piece.end > start
        )

    def translation(self, request: InsideRequest) -> TranslationSteps:
        """Step 7: the text as the bundled encoder-decoder translates it, whatever model was chosen."""
        return self.ask(asks.translation_steps, find("", Task.TRANSLATION).name, request.text)

    def parameters(self, request: InsideRequest) -> ParameterCount:
        """Step 8: the parameters of the chosen model, part by part."""
        return self.ask(asks.parameters, request.checkpoint)

    def ask(self, ask: Ask[Asked, Result], checkpoint: str, *arguments: Asked.args, **options: Asked.kwargs) -> Result:
        """The result of `ask` with the model of `checkpoint`; raises `InputError`."""
        with errors_in_a_sentence(f"looking inside {checkpoint}"), span("look", checkpoint=REGISTRY[checkpoint].name):
            return self._backend.ask(ask, REGISTRY[checkpoint], None, *arguments, **options)


def _place(request: InsideRequest) -> tuple[int, int, int]:
    return request.layer, request.head, request.position


def _drawable(checkpoint: Checkpoint, read: TokenizedText) -> TokenizedText:
    """Return `read` itself; raises `InputError` for more than `MOST_TOKENS` tokens, not counting padding."""
    count = sum(piece.attended for piece in read.pieces)
    if count > MOST_TOKENS:
        raise InputError(
            ngettext(
                "That is {count} token in the pieces of {model}, and at most {most} are drawn here. Please shorten it.",
                "That is {count} tokens in the pieces of {model}, and at most {most} are drawn here. "
                "Please shorten it.",
                count,
                model=checkpoint.title,
                most=MOST_TOKENS,
            ),
            "text",
        )
    return read


def _within(number: int, count: int) -> int:
    return min(max(number, 0), count - 1)


def _source_kind(request: InsideRequest) -> str:
    return "encoder" if _translates(request) else ""


def _translates(request: InsideRequest) -> bool:
    return REGISTRY[request.checkpoint].task is Task.TRANSLATION
