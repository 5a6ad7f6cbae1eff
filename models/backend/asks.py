"""The functions that backends call with a loaded model and plain values, in this process or in a worker.

A request names one of these functions, so a worker runs nothing else. Modules that need torch are imported inside
them, so that a page whose models are in workers imports none of these.
"""

from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

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
from models.inside.parameters import Sizes, count_parameters, sizes_of
from models.loading import import_looks
from models.outputs.attention import Attentions, Attribution, SwitchedOff
from models.outputs.base import TaskOutput, Token
from models.outputs.before import GenerationsReading
from models.outputs.writing import DecodeTree

if TYPE_CHECKING:
    from models.tasks.base import AnyTaskModel
    from models.tasks.generations import Generations
    from models.tasks.text_generation import TextGeneration

Asked = ParamSpec("Asked")
Result = TypeVar("Result")


def read_fields(model: "AnyTaskModel", fields: Mapping[str, Any]) -> Any:
    """`fields` as the input dataclass of the model's task; raises `InputError` for fields that it cannot read."""
    return model.inputs_type(**fields)


def answer(model: "AnyTaskModel", inputs: Any) -> TaskOutput:
    """The answer to typed inputs."""
    return cast(TaskOutput, model.answer(inputs))


def write(model: "AnyTaskModel", inputs: Any) -> Generator[Any]:
    """Yield an answer to typed inputs as it grows."""
    yield from model.stream(inputs)  # type: ignore[attr-defined]


def tree_of(model: "AnyTaskModel", fields: Mapping[str, Any]) -> DecodeTree:
    """The tree of greedy search, beam search and sampling for the fields of a completion."""
    from models.explain.strategy_tree import decode_tree

    return decode_tree(cast("TextGeneration", model), model.inputs_type(**fields))


def look(
    model: "AnyTaskModel",
    at: "Callable[Concatenate[AnyTaskModel, Any, Asked], Result]",
    fields: Mapping[str, Any],
    off: SwitchedOff | None,
    /,
    *arguments: Asked.args,
    **options: Asked.kwargs,
) -> Result:
    """Call `at`, one of the functions below, for `fields`; with heads switched `off`, on the exact network.

    Its arguments are the model, the typed inputs, `arguments` and `options`.
    """
    import_looks()
    inputs = model.inputs_type(**fields)
    if off is None:
        return at(model, inputs, *arguments, **options)
    from models.explain.what_if import without

    with without(model, off):
        return at(model.exact, inputs, *arguments, **options)


def attention(model: "AnyTaskModel", inputs: Any, written: tuple[int, ...]) -> Attentions:
    """The attention over the inputs and the ids that the model has `written` after them."""
    return model.attend(inputs, written)


def exact_answer(model: "AnyTaskModel", inputs: Any) -> TaskOutput:
    """The answer of the network in float32 that looks inside use."""
    return cast(TaskOutput, model.exact.answer(inputs))


def attribution(model: "AnyTaskModel", inputs: Any, written: tuple[int, ...], target: str) -> Attribution:
    """The attribution of each token to the decision called `target`, or to the one that made the answer."""
    from models.explain.attribution import attribute

    return attribute(model, inputs, written, target)


def decided(model: "AnyTaskModel", inputs: Any, written: tuple[int, ...]) -> tuple[int | None, ...]:
    """For each token that was written, the first layer, from 0, after which it was the likeliest, or `None`."""
    from models.inside.lens import decided_layers

    return decided_layers(cast("TextGeneration", model), inputs, written)


def generations(model: "AnyTaskModel", inputs: Any) -> GenerationsReading:
    """The terms of the answer of each model from before Transformers."""
    return cast("Generations", model).read(inputs)


def replaced(
    model: "AnyTaskModel", inputs: Any, tokens: tuple[Token, ...], position: int, word: str, last: int | None
) -> Any:
    """The inputs with `word` in place of the tokens from `position` to `last`."""
    from models.explain.what_if import replaced

    return replaced(model, inputs, tokens, position, word, last)


def pieces_and_sizes(model: "AnyTaskModel", text: str) -> tuple[TokenizedText, Sizes]:
    """The text in the pieces of the model, and the model's sizes."""
    import_looks()
    from models.inside.reading import tokenized

    return tokenized(model, text), sizes_of(model.folder)


def knows_blanks(model: "AnyTaskModel") -> bool:
    """Whether the model has a token for a blank."""
    return model.tokenizer.settings.mask_token is not None


def embedding(model: "AnyTaskModel", text: str) -> EmbeddedText:
    """The vectors of the text, and the embeddings that they are the sum of."""
    import_looks()
    from models.inside.look import embed

    return embed(model, text)


def look_inside(model: "AnyTaskModel", text: str, layer: int, head: int, position: int, kind: str) -> Look:
    """The numbers of one forward pass for a layer, a head and a token, counted from 0."""
    import_looks()
    from models.inside.look import look_inside

    return look_inside(model, text, layer, head, position, kind)


def vectors(model: "AnyTaskModel", text: str, position: int) -> Numbers:
    """The vector of a token before the first layer and after each, `[layer + 1, width]`."""
    import_looks()
    from models.inside.look import vectors_through

    return vectors_through(model, text, position)


def turned_query(
    model: "AnyTaskModel", text: str, place: tuple[int, int, int], kind: str, component: int, added: float
) -> TurnedQuery:
    """The weights of the token at `place` (layer, head, position) with `added` to a `component` of its query."""
    seen = look_inside(model, text, *place, kind)
    from models.inside.turning import turn_query

    return turn_query(seen, min(component, seen.numbers.width - 1), added)


def turned_block(
    model: "AnyTaskModel", text: str, place: tuple[int, int, int], head_scale: float, feed_forward: float
) -> Answers:
    """The answer as it is, and with the head and the feed-forward layer at `place` scaled."""
    import_looks()
    from models.inside.turning import turn_block

    return turn_block(model, text, *place, head_scale=head_scale, feed_forward=feed_forward)


def temperatures(model: "AnyTaskModel", text: str, position: int) -> Temperatures:
    """The answer at every temperature."""
    import_looks()
    from models.inside.turning import temperatures

    return temperatures(model, text, position)


def patched(model: "AnyTaskModel", there: str, word_there: int, here: str, word_here: int) -> Patched:
    """The answers to `here` with the state of one token replaced by that of a token of `there`."""
    import_looks()
    from models.inside.turning import patch

    return patch(model, there, word_there, here, word_here)


def translation_steps(model: "AnyTaskModel", text: str) -> TranslationSteps:
    """The translation by greedy search, with the cross-attention of every step."""
    import_looks()
    from models.inside.look import translation_steps

    return translation_steps(model, text)


def parameters(model: "AnyTaskModel") -> ParameterCount:
    """The parameters of the model, part by part."""
    import_looks()
    return count_parameters(model)
