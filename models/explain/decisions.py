"""What a model decided, as one number that its tokens can be held responsible for: the logit behind each answer."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from models.errors import InputError
from models.outputs import QuestionAnsweringOutput, Token
from models.tasks.base import AnyTaskModel, batch_of_one
from models.tasks.fill_mask import FillMask, FillMaskInput
from models.tasks.question_answering import QuestionAnswering, QuestionAnsweringInput
from models.tasks.text_classification import TextClassification, TextClassificationInput
from models.tasks.text_generation import TextGeneration, TextGenerationInput
from models.text.tokens import read_tokens, readable

SPAN_TARGETS = ("answer", "start", "end")
"""What can be asked of an answer that was found: both ends of it together, the first token, the last one."""

_NUMBERED = re.compile(r"#(\d{1,4})(?: +(.+))?", re.DOTALL)


@dataclass(frozen=True, eq=False)
class Decision:
    """A logit and all that the network needs to work it out again.

    `ids` is `[1, token]`, `other_inputs` as well; `logit` reads `[row]` off the network's output. Where `position` is
    set, the scores over the vocabulary are worked out for that token alone, and `logit` finds them at place 0.
    """

    target: str
    ids: Tensor
    tokens: tuple[Token, ...]
    logit: Callable[[Any], Tensor]
    other_inputs: dict[str, Tensor] = field(default_factory=dict)
    position: int | None = None


def decision_of(model: AnyTaskModel, inputs: Any, written: tuple[int, ...] = (), target: str = "") -> Decision:
    """The decision called `target`, or the one that made the answer where it is empty.

    - sentiment: the name of a label;
    - questions: `answer` (start and end together), `start` or `end` of the best answer;
    - blanks: a word for the first blank, `#2` for the second blank's likeliest word, `#2 word` for a word there;
    - writing on: the same with the tokens that were `written` in place of the blanks.

    Raises `InputError` for a target that is not there, and for translation, which has one choice for each word.
    """
    match model:
        case TextClassification():
            return _label(model, inputs, target)
        case QuestionAnswering():
            return _span(model, inputs, target)
        case FillMask():
            return _filling(model, inputs, target)
        case TextGeneration():
            return _next_token(model, inputs, written, target)
        case _:
            raise InputError("Attribution is there for sentiment, questions, blanks and writing on, not for this.")


def _label(model: TextClassification, inputs: TextClassificationInput, target: str) -> Decision:
    encoded = model.preprocess(inputs)
    names = model.settings.labels
    if target and target.strip().lower() not in names:
        raise InputError(f"There is no such label; this model has: {', '.join(names)}.", "target")
    label = names.index(target.strip().lower()) if target else int(model.forward(encoded).argmax())
    return Decision(names[label], model.tensor(encoded.ids), encoded.tokens, lambda output: output.logits[:, label])


def _span(model: QuestionAnswering, inputs: QuestionAnsweringInput, target: str) -> Decision:
    name = target.strip().lower() or SPAN_TARGETS[0]
    if name not in SPAN_TARGETS:
        raise InputError(f"The target must be one of: {', '.join(SPAN_TARGETS)}.", "target")
    output: QuestionAnsweringOutput = model.answer(inputs)
    if not output.answers:
        raise InputError("No answer was found that could be looked into.")
    best = output.answers[0]
    of_the_best = [
        place for place, token in enumerate(output.tokens) if token.start < best.end and best.start < token.end
    ]
    start, end = of_the_best[0], of_the_best[-1]
    encoded = model.preprocess(inputs)
    row = encoded.tokens.index(output.tokens)
    window = {name: model.tensor(numbers) for name, numbers in encoded.window(row).items()}

    def logit(raw: Any) -> Tensor:
        first, last = raw.start_logits[:, start], raw.end_logits[:, end]
        return {"answer": first + last, "start": first, "end": last}[name]  # type: ignore[no-any-return]

    return Decision(name, window.pop("input_ids"), output.tokens, logit, window)


def _filling(model: FillMask, inputs: FillMaskInput, target: str) -> Decision:
    encoded = model.preprocess(inputs)
    number, word = _numbered(target)
    if not 1 <= number <= len(encoded.positions):
        raise InputError(f"There is no blank {number}; this text has {len(encoded.positions)}.", "target")
    token_id = _one_id(model, word) if word else int(model.forward(encoded)[number - 1].argmax())
    return Decision(
        readable(model.tokenizer, token_id).strip(),
        model.tensor(encoded.ids),
        encoded.tokens,
        lambda output: output.logits[:, 0, token_id],
        position=encoded.positions[number - 1],
    )


def _next_token(model: TextGeneration, inputs: TextGenerationInput, written: Sequence[int], target: str) -> Decision:
    encoded = model.preprocess(inputs)
    number, word = _numbered(target)
    if not 1 <= number <= len(written) + 1:
        raise InputError(f"There is no token {number}; {len(written)} were written.", "target")
    ids = batch_of_one([*encoded.ids[0].tolist(), *written[: number - 1]])
    tokens = encoded.tokens + read_tokens(model.tokenizer, written[: number - 1])
    if word:
        token_id = _one_id(model, word)
    elif number <= len(written):
        token_id = written[number - 1]
    else:
        token_id = int(model.logits(ids)[-1].argmax())
    return Decision(
        readable(model.tokenizer, token_id),
        model.tensor(ids),
        tokens,
        lambda output: output.logits[:, 0, token_id],
        position=len(tokens) - 1,
    )


def _numbered(target: str) -> tuple[int, str]:
    """`#2 word` as 2 and the word, `word` as 1 and the word, nothing as 1 and nothing."""
    found = _NUMBERED.fullmatch(target.strip())
    return (int(found[1]), found[2] or "") if found else (1, target.strip())


def _one_id(model: AnyTaskModel, word: str) -> int:
    """The id of a word that the vocabulary has as one token; raises `InputError` for any other."""
    # Byte-level vocabularies spell a word in the middle of a sentence with its space in front.
    for text in (" " + word, word):
        ids = model.tokenizer.encode(text, special=False).ids
        if len(ids) == 1 and ids[0] != model.tokenizer.unk_token_id:
            return int(ids[0])
    raise InputError("This model does not have that word as one token, and a target must be one.", "target")
