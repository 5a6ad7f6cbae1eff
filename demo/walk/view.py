"""A view of the walk: what it asks for, as an address has it, and the numbers that answer it."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlencode

from demo.limits import INSIDE_FIELDS, clean_fields, whole_number
from demo.looks import OUR_FAULT
from demo.settings import Settings
from models.errors import CheckpointUnavailable, InputError
from models.inside.outputs import EmbeddedText, Look, ParameterCount, Shape, TokenizedText, TranslationSteps
from models.inside.tokens import FROM_THE_MODEL, place_to_follow, texts_of
from models.loading import import_looks
from models.loading.store import ModelStore
from models.registry import REGISTRY, Checkpoint, Task, find

if TYPE_CHECKING:
    from models.tasks.base import AnyTaskModel


STEP_IN_QUERY = "inside"
"""The name of the step in an address: `?inside=tokens&text=…`."""

_COUNTED_FROM = "from"
"""What layers, heads and tokens count from in an address: 1 as on the page; addresses without it are older, and 0."""

_COUNTED = ("layer", "head", "position")


@dataclass(frozen=True)
class InsideRequest:
    """One step of one text through one checkpoint.

    `layer` and `head` count from 0; `position` is the place of a token from 0. `FROM_THE_MODEL` is where the model
    makes its guess, and numbers below that count from the end.
    """

    step: str
    text: str
    checkpoint: str
    layer: int = 0
    head: int = 0
    position: int = FROM_THE_MODEL

    def to_query(self) -> str:
        """The end of an address that opens this view, from its question mark on; it counts from 1, as the page does."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        counted = {name: named[name] + 1 if named[name] >= 0 else named[name] for name in _COUNTED}
        return "?" + urlencode({STEP_IN_QUERY: named.pop("step"), **named, **counted, _COUNTED_FROM: 1})


def from_query(query: Mapping[str, str], otherwise: InsideRequest) -> InsideRequest | None:
    """The view that an address asks for, what it leaves out as in `otherwise`; none where it names no step."""
    if STEP_IN_QUERY not in query:
        return None
    first = 1 if query.get(_COUNTED_FROM) == "1" else 0
    return InsideRequest(
        query[STEP_IN_QUERY],
        query.get("text", otherwise.text),
        query.get("checkpoint", otherwise.checkpoint),
        *(_from_0(query.get(name, ""), getattr(otherwise, name), first) for name in _COUNTED),
    )


def _from_0(written: str, otherwise: int, first: int) -> int:
    """A place from 0 as an address has it, counted from `first`; `otherwise` where there is none."""
    number = _number(written, otherwise + first if otherwise >= 0 else otherwise)
    return max(0, number - first) if number >= 0 else number


def _number(written: str, otherwise: int) -> int:
    """A number of at most six digits as it stands in an address, `otherwise` where there is none."""
    digits = written.removeprefix("-")
    return int(written) if digits.isascii() and digits.isdigit() and len(digits) <= 6 else otherwise


MOST_TOKENS = 64
"""Up to this many tokens every step can be drawn so that each of them is named."""

_log = logging.getLogger(__name__)

Result = TypeVar("Result")


def checkpoints_inside() -> tuple[Checkpoint, ...]:
    """The checkpoints that can be looked into: the bundled ones."""
    return tuple(each for each in REGISTRY.values() if not each.hub_id)


@dataclass(frozen=True)
class WalkChoices:
    """The choices that a text and a checkpoint leave: tokens, layers and heads."""

    tokens: TokenizedText
    shape: Shape


@dataclass(frozen=True)
class ChosenWord:
    """A token as it was chosen: its place, and the checkpoint and the text (`mark_of`) in whose pieces it has it."""

    checkpoint: str
    mark: str
    position: int

    @classmethod
    def of(cls, request: InsideRequest) -> "ChosenWord":
        """The one of `request`."""
        return cls(request.checkpoint, mark_of(request.text), request.position)


def mark_of(text: str) -> str:
    """A few letters that another text has otherwise."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


class Inside:
    """Computes the steps for visitors; safe to call from many threads."""

    def __init__(self, settings: Settings, store: ModelStore) -> None:
        self._settings = settings
        self._store = store

    def checked(self, request: InsideRequest) -> tuple[InsideRequest, WalkChoices]:
        """The request as the models may have it, and what else could be chosen; loads no network.

        A layer, head or position that is not there becomes the last one that is: another model may have fewer. The
        position that is left to the model is found. Raises `InputError` for a text or a checkpoint that cannot be used.
        """
        checkpoint = self.checkpoint(request)
        text = clean_fields(INSIDE_FIELDS, {"text": request.text}, self._settings.limits)["text"]
        place = WalkChoices(self._tokenized(checkpoint, text), _shape(checkpoint))
        position = whole_number(request.position, "The position", "position")
        if position == FROM_THE_MODEL:
            position = place_to_follow(checkpoint.task, place.tokens.pieces)
        count = len(place.tokens.pieces)
        return replace(
            request,
            text=text,
            checkpoint=checkpoint.name,
            layer=_within(whole_number(request.layer, "The layer", "layer"), place.shape.layers),
            head=_within(whole_number(request.head, "The head", "head"), place.shape.heads),
            position=max(0, position + count) if position < 0 else _within(position, count),
        ), place

    def follow(self, request: InsideRequest, chosen: ChosenWord) -> InsideRequest:
        """The request with the word that was `chosen`, be it in another model's pieces.

        For another text the choice is the model's; for another model the same word stays, but for one that was the
        other model's choice.
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
            was_left, _ = self.checked(replace(left, checkpoint=chosen.checkpoint))
            pieces = self.checked(left)[1].tokens.pieces
        except InputError:
            return left
        if before.position == was_left.position:
            return left
        word = place.tokens.pieces[before.position]
        same = (at for at, piece in enumerate(pieces) if piece.start < word.end <= piece.end)
        return replace(request, position=next(same, FROM_THE_MODEL))

    def checkpoint(self, request: InsideRequest) -> Checkpoint:
        """The checkpoint that is asked for; raises `CheckpointUnavailable` for one that cannot be looked into."""
        found = {each.name: each for each in checkpoints_inside()}.get(str(request.checkpoint))
        if found is None:
            offered = ", ".join(each.name for each in checkpoints_inside())
            raise CheckpointUnavailable(f"There is no such model to look into. You can choose among: {offered}.")
        return found

    def tokens(self, request: InsideRequest, padding: int = 0) -> tuple[TokenizedText, ...]:
        """Step 1: the text in the pieces of three vocabularies; the first reads pairs and has `padding`."""
        from models.inside.tokens import SIDE_BY_SIDE

        first, *others = (REGISTRY[name] for name in SIDE_BY_SIDE)
        return (
            self._tokenized(first, request.text, padding),
            *(self._tokenized(each, request.text) for each in others),
        )

    def embeddings(self, request: InsideRequest) -> EmbeddedText:
        """Step 2: the vectors of the text, and what they are the sum of."""

        def look(model: "AnyTaskModel") -> EmbeddedText:
            from models.inside.embeddings import embed

            return embed(model, request.text)

        return self.ask(request, look)

    def translation(self, request: InsideRequest) -> TranslationSteps:
        """Step 7: the text as the bundled encoder-decoder translates it, whatever model was chosen."""

        def look(model: "AnyTaskModel") -> TranslationSteps:
            from models.inside.look import translation_steps

            return translation_steps(model, request.text)

        return self.ask(request, look, find("", Task.TRANSLATION).name)

    def parameters(self, request: InsideRequest) -> ParameterCount:
        """Step 8: the parameters of the chosen model, part by part."""

        def look(model: "AnyTaskModel") -> ParameterCount:
            from models.inside.parameters import count_parameters

            return count_parameters(model)

        return self.ask(request, look)

    def ask(self, request: InsideRequest, look: Callable[["AnyTaskModel"], Result], checkpoint: str = "") -> Result:
        """Call `look` with the model of `request`, or with the one called `checkpoint`.

        Raises `InputError`; the details of any other error go to the host's log.
        """
        try:
            model = self._store.load(REGISTRY[checkpoint] if checkpoint else self.checkpoint(request))
            import_looks()
            return look(model)
        except InputError:
            raise
        except Exception as error:
            _log.exception("looking inside %s failed", checkpoint or request.checkpoint)
            raise InputError(OUR_FAULT) from error

    def _tokenized(self, checkpoint: Checkpoint, text: str, padding: int = 0) -> TokenizedText:
        from models.inside.tokens import tokenize

        read = tokenize(checkpoint, text, padding)
        count = sum(piece.attended for piece in read.pieces)
        if count > MOST_TOKENS:
            raise InputError(
                f"That is {count} tokens in the pieces of {checkpoint.title}, and at most {MOST_TOKENS} are drawn "
                "here. Please shorten it.",
                "text",
            )
        return read


def _shape(checkpoint: Checkpoint) -> Shape:
    from models.inside.parameters import shape_of

    return shape_of(checkpoint)


def _within(number: int, count: int) -> int:
    return min(max(number, 0), count - 1)


def look(inside: Inside, request: InsideRequest, kind: str = "") -> Look:
    """The numbers of one forward pass for the layer, head and token of `request`; raises `InputError`.

    `kind` is one of the model's kinds of self-attention, the first one where it is empty.
    """

    def looked(model: "AnyTaskModel") -> Look:
        from models.inside.look import look_inside

        return look_inside(model, request.text, request.layer, request.head, request.position, kind)

    return inside.ask(request, looked, request.checkpoint)


def look_at_source(inside: Inside, request: InsideRequest) -> Look:
    """Look at the side of the visitor's own words, which is the encoder of a translator."""
    return look(inside, request, "encoder" if _translates(request) else "")


def look_at_guess(inside: Inside, request: InsideRequest) -> Look:
    """Look at the side of the guess, which is the first word of the decoder of a translator."""
    # The guess is one for all layers and heads, and a decoder may have fewer than the encoder that was chosen from.
    return look(inside, replace(request, layer=0, head=0, position=0) if _translates(request) else request)


def within_reach(request: InsideRequest) -> InsideRequest:
    """The request with the last layer and head that its checkpoint has, where it asks for later ones."""
    from models.inside.parameters import shape_of

    shape = shape_of(REGISTRY[request.checkpoint])
    return replace(request, layer=min(request.layer, shape.layers - 1), head=min(request.head, shape.heads - 1))


def require_drawable(seen: Look) -> Look:
    """Return the look if its tokens can be drawn; raise `InputError` otherwise."""
    if len(seen.tokens) > MOST_TOKENS:
        raise InputError(
            f"That is {len(seen.tokens)} tokens in the pieces of {REGISTRY[seen.checkpoint.name].title}, and at most "
            f"{MOST_TOKENS} are drawn here. Please shorten it.",
            "text",
        )
    return seen


def _translates(request: InsideRequest) -> bool:
    return REGISTRY[request.checkpoint].task is Task.TRANSLATION
