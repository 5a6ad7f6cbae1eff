"""Attribution of a decision of the model to its tokens: integrated gradients (Sundararajan et al., 2017)."""

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from captum.attr import IntegratedGradients
from torch import Tensor

from models.architectures import architecture
from models.cancellation import go_on
from models.engine.pytorch import scored_at
from models.errors import InputError
from models.outputs.attention import Attribution
from models.outputs.base import Token
from models.outputs.encoders import QuestionAnsweringOutput
from models.tasks.base import AnyTaskModel, batch_of_one, padded, require
from models.tasks.endings import Endings
from models.tasks.fill_mask import FillMask, FillMaskInput
from models.tasks.question_answering import QuestionAnswering, QuestionAnsweringInput
from models.tasks.sentence_pair import FOLLOWS, GROUPS, SentencePair, read_pair
from models.tasks.text_classification import TextClassification, TextClassificationInput
from models.tasks.text_generation import TextGeneration, TextGenerationInput
from models.tasks.token_classification import TokenClassification, TokenClassificationInput, class_of
from models.text.tokenizer import read_tokens, readable
from models.wording import Sentence

SPAN_TARGETS = ("answer", "start", "end")
"""The targets of an answer found in a text: both ends of it together, its first token, its last token."""

_NO_LABEL = Sentence("There is no such label; this model has: {labels}.")
_NO_NAME = Sentence("There is no name {number}; {count} were found.")
_NO_BLANK = Sentence("There is no blank {number}; this text has {count}.")
_NO_TOKEN = Sentence("There is no token {number}; {count} were written.")
_TOO_LONG = Sentence("That is {length:,} tokens, and attribution is worked out for at most {most}.")
_NUMBERED = re.compile(r"#(\d{1,4})(?: +(.+))?", re.DOTALL)


@dataclass(frozen=True, eq=False)
class Decision:
    """A logit, and all that the network needs to compute it again.

    `ids` and `other_inputs` are `[1, token]`; `logit` reads the logit `[row]` from the network's output. Where
    `position` is set, logits over the vocabulary `[1, row, vocabulary]` are computed for that token alone.
    """

    target: str
    ids: Tensor
    tokens: tuple[Token, ...]
    logit: Callable[[Any], Tensor]
    other_inputs: dict[str, Tensor] = field(default_factory=dict)
    position: int | None = None


def decision_of(model: AnyTaskModel, inputs: Any, written: tuple[int, ...] = (), target: str = "") -> Decision:
    """The decision called `target`, or the one that made the answer if `target` is empty.

    - sentiment: the name of a label;
    - names: a label such as `B-person`, for the first token of the first name; `#2 B-person` for the second's;
    - sentence pairs: the name of a label, the likeliest of entailment, neutral and contradiction where it is empty;
    - endings: the same for the likeliest ending, `follows` where it is empty;
    - questions: `answer` (start and end together), `start` or `end` of the best answer;
    - blanks: a word for the first blank, `#2` for the second blank's likeliest word, `#2 word` for a word there;
    - writing on: the same with the tokens that were `written` in place of the blanks.

    Raises `InputError` for a target that is not there, and for other tasks, such as translation, which has one choice
    for each word.
    """
    target = target.strip()
    numbered = _NUMBERED.fullmatch(target)
    number, word = (int(numbered[1]), numbered[2] or "") if numbered else (1, target)
    match model:
        case TextClassification():
            return _label(model, inputs, target.lower())
        case SentencePair():
            return _of_pair(model, (inputs.a, inputs.b), target.lower())
        case Endings():
            return _of_pair(model, (inputs.beginning, model.likeliest(inputs)), target.lower() or FOLLOWS)
        case QuestionAnswering():
            return _span(model, inputs, target.lower() or SPAN_TARGETS[0])
        case TokenClassification():
            return _label_of_name(model, inputs, number, word)
        case FillMask():
            return _filling(model, inputs, number, word)
        case TextGeneration():
            return _next_token(model, inputs, written, number, word)
        case _:
            said = Sentence("Attribution is there for sentiment, questions, names, blanks and writing on alone.")
            raise InputError(said)


def _label(model: TextClassification, inputs: TextClassificationInput, target: str) -> Decision:
    encoded, names = model.preprocess(inputs), model.settings.labels
    require(target in ("", *names), "target", _NO_LABEL, labels=", ".join(names))
    label = names.index(target) if target else int(model.forward(encoded).argmax())
    return Decision(names[label], model.tensor(encoded.ids), encoded.tokens, lambda output: output.logits[:, label])


def _of_pair(model: SentencePair | Endings, texts: tuple[str, str], target: str) -> Decision:
    names = model.settings.labels
    require(target in ("", *names), "target", _NO_LABEL, labels=", ".join(names))
    pair, tokens = read_pair(model, texts, ("a", "b"))
    inputs = padded([pair], model.tokenizer.settings)
    logits = model.engine.encode(inputs)[0][0]
    name = target or max(GROUPS[1], key=lambda each: logits[names.index(each)])
    label, given = names.index(name), {kind: model.tensor(numbers) for kind, numbers in inputs.items()}
    return Decision(name, given.pop("input_ids"), tokens, lambda output: output.logits[:, label], given)


def _span(model: QuestionAnswering, inputs: QuestionAnsweringInput, target: str) -> Decision:
    said = Sentence("The target must be one of: {targets}.", targets=", ".join(SPAN_TARGETS))
    require(target in SPAN_TARGETS, "target", said)
    output: QuestionAnsweringOutput = model.answer(inputs)
    require(bool(output.answers), "", Sentence("No answer was found that could be looked into."))
    best, tokens = output.answers[0], output.tokens
    of_the_best = [place for place, token in enumerate(tokens) if token.start < best.end and best.start < token.end]
    start, end = of_the_best[0], of_the_best[-1]
    encoded = model.preprocess(inputs)
    row = [each.tokens for each in encoded.windows].index(tokens)
    window = {name: model.tensor(numbers) for name, numbers in encoded.inputs_of(row).items()}

    def logit(raw: Any) -> Tensor:
        first, last = raw.start_logits[:, start], raw.end_logits[:, end]
        return {"answer": first + last, "start": first, "end": last}[target]  # type: ignore[no-any-return]

    return Decision(target, window.pop("input_ids"), tokens, logit, window)


def _label_of_name(model: TokenClassification, inputs: TokenClassificationInput, number: int, label: str) -> Decision:
    output, encoded = model.answer(inputs), model.preprocess(inputs)
    # Where no name was found, the target is the word likeliest to be one.
    starts = [each.start for each in output.entities] or [output.decisive.token.start]
    require(1 <= number <= len(starts), "target", _NO_NAME, number=number, count=len(output.entities))
    start = starts[number - 1]
    window = encoded.window_of(start)
    tokens = encoded.tokens_of(window)
    place = next(place for place, token in enumerate(tokens) if token.start <= start < token.end)
    names = {name.lower(): name for name in output.classes}
    require(label.lower() in ("", *names), "target", _NO_LABEL, labels=", ".join(output.classes))
    chosen = names.get(label.lower(), output.at(start).label)
    # Labels of the same class name are one decision.
    numbers = [row for row, name in enumerate(model.settings.labels) if class_of(name) == chosen]
    ids = model.tensor(encoded.ids[window : window + 1])
    return Decision(chosen, ids, tokens, lambda output: output.logits[:, place, numbers].logsumexp(dim=-1))


def _filling(model: FillMask, inputs: FillMaskInput, number: int, word: str) -> Decision:
    encoded = model.preprocess(inputs)
    blanks = len(encoded.positions)
    require(1 <= number <= blanks, "target", _NO_BLANK, number=number, count=blanks)
    token_id = _one_id(model, word) if word else int(model.forward(encoded)[number - 1].argmax())
    name, position = readable(model.tokenizer, token_id).strip(), encoded.positions[number - 1]
    return Decision(name, model.tensor(encoded.ids), encoded.tokens, _score_of(token_id), position=position)


def _next_token(
    model: TextGeneration, inputs: TextGenerationInput, written: Sequence[int], number: int, word: str
) -> Decision:
    encoded = model.preprocess(inputs)
    require(1 <= number <= len(written) + 1, "target", _NO_TOKEN, number=number, count=len(written))
    ids = batch_of_one([*encoded.ids[0].tolist(), *written[: number - 1]])
    tokens = encoded.tokens + read_tokens(model.tokenizer, written[: number - 1])
    if word:
        token_id = _one_id(model, word)
    elif number <= len(written):
        token_id = written[number - 1]
    else:
        token_id = int(model.logits(ids)[-1].argmax())
    name = readable(model.tokenizer, token_id)
    return Decision(name, model.tensor(ids), tokens, _score_of(token_id), position=len(tokens) - 1)


def _score_of(token_id: int) -> Callable[[Any], Tensor]:
    return lambda output: output.logits[0, :, token_id]


def _one_id(model: AnyTaskModel, word: str) -> int:
    """The id of a word that the vocabulary has as one token; raises `InputError` for any other."""
    # Byte-level vocabularies spell a word in the middle of a sentence with its space in front.
    for text in (" " + word, word):
        ids = model.tokenizer.encode(text, special=False).ids
        if len(ids) == 1 and ids[0] != model.tokenizer.settings.unk_token_id:
            return int(ids[0])
    raise InputError(Sentence("This model does not have that word as one token, and a target must be one."), "target")


METHOD = Sentence("integrated gradients")
MAX_TOKENS = 512
COMPLETE_WITHIN = 0.05
"""The error that the sum of the scores may have, as a share of the difference of the logits."""

# Points on the path from the baseline to the text. Over the bundled checkpoints 24 give an error under 1 % for nearly
# every text; where it is too large, the next number is tried.
_STEPS = (24, 64, 160)
# Gradients need every layer's activations at once: this many tokens take 350 MB in a BERT-base.
_TOKENS_AT_ONCE = 512
# Below this difference of logits, five per cent of it is less than a network's rounding error.
_LEAST_DIFFERENCE = 0.1


def attribute(model: AnyTaskModel, inputs: Any, written: tuple[int, ...] = (), target: str = "") -> Attribution:
    """The share of each token in the decision called `target` (see `decision_of`), in units of its logit.

    The path runs from a baseline, the text with all its words blank, to the text. A blank is the model's mask token,
    which it has learned to read as any word; a model without one starts from embeddings of zero. Where positions are
    rotary, it starts from the mean of all embeddings and keeps the first token. Zero is of no use there: the norm
    scales even the smallest vector to full size, and many heads give most of their weight to the first token, so that
    the logit would change in jumps, which no sum of gradients follows. Marks such as [SEP], blanks and a kept first
    token are the same at both ends, so their scores are zero. Raises `InputError` for a target that is not there, for
    more than 512 tokens and for a text without a token that could be blank.
    """
    decision = decision_of(model, inputs, written, target)
    length = len(decision.tokens)
    require(length <= MAX_TOKENS, "", _TOO_LONG, length=length, most=MAX_TOKENS)
    text, blank = _both_ends(model, decision)
    require(not torch.equal(text, blank), "", Sentence("There is no word in this text that could be left blank."))

    def logit(embeddings: Tensor) -> Tensor:
        """The decision's logit `[row]` over embeddings `[row, token, hidden]`."""
        rows = len(embeddings)
        others = {name: tensor.expand(rows, -1) for name, tensor in decision.other_inputs.items()}
        scoring: AbstractContextManager[None] = nullcontext()
        if decision.position is not None:
            scoring = scored_at(model.network, [row * length + decision.position for row in range(rows)])
        go_on()
        # The lock is held for one batch at a time, so that other runs get their turn in between.
        with model.lock, scoring:
            return decision.logit(model.network(inputs_embeds=embeddings, **others)).float()

    with torch.no_grad():
        value, baseline_value = (float(logit(each)) for each in (text, blank))
    integrated = IntegratedGradients(logit)
    rows = max(1, _TOKENS_AT_ONCE // length)
    for steps in _STEPS:
        with torch.enable_grad():
            found = integrated.attribute(text, baselines=blank, n_steps=steps, internal_batch_size=rows)
        scores = found.sum(dim=-1)[0].double()
        delta = float(scores.sum()) - (value - baseline_value)
        if abs(delta) <= COMPLETE_WITHIN * max(abs(value - baseline_value), _LEAST_DIFFERENCE) / 2:
            break
    shares, mask = tuple(scores.tolist()), str(model.tokenizer.settings.mask_token or "")
    return Attribution(decision.tokens, shares, decision.target, METHOD, delta, value, baseline_value, mask, steps)


def _both_ends(model: AnyTaskModel, decision: Decision) -> tuple[Tensor, Tensor]:
    """The embeddings `[1, token, hidden]` of the text, and of the text with its words blank."""
    embed = model.network.get_input_embeddings()
    kept = torch.tensor([token.is_mark or token.is_blank for token in decision.tokens])
    names = architecture(model.network.config.model_type).embeddings
    with torch.no_grad():
        text: Tensor = embed(decision.ids)
        if model.tokenizer.settings.mask_token_id is not None:
            blank = embed(torch.full_like(decision.ids, model.tokenizer.settings.mask_token_id))
        elif names is not None and names.rotary:
            blank = next(embed.parameters()).mean(dim=0).expand_as(text)
            kept[0] = True
        else:
            blank = torch.zeros_like(text)
    kept = kept.to(decision.ids.device)
    return text, torch.where(kept[None, :, None], text, blank)
