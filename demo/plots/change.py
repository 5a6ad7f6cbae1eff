"""Charts of one answer: before and after a change, and the spans of an answer."""

from dataclasses import dataclass, replace

import plotly.graph_objects as go

from demo.plots.reading import percent
from demo.plots.template import AMBER, INK, TEMPLATE, categories
from models.outputs import (
    CompletionOutput,
    FillMaskOutput,
    Prediction,
    QuestionAnsweringOutput,
    SentimentOutput,
    TaskOutput,
    TranslationOutput,
)

_NO_ANSWER = "no answer in this text"


@dataclass(frozen=True)
class ShareChange:
    """A candidate of one blank (counted from 1), label or span: its shares before and after.

    A share is `None` where the candidate is not among those that the answer names.
    """

    blank: int
    text: str
    before: float | None
    after: float | None


def share_changes(before: TaskOutput, after: TaskOutput) -> tuple[ShareChange, ...]:
    """The candidates of both answers, blank by blank, the likeliest one after the change first."""
    before, after = _without_new_blank(before, after), _without_new_blank(after, before)
    changes = []
    for blank, (old, new) in enumerate(zip(_shares(before), _shares(after), strict=False), start=1):
        rows = [ShareChange(blank, text, old.get(text), new.get(text)) for text in {**new, **old}]
        changes += sorted(rows, key=lambda row: (-(row.after or 0.0), -(row.before or 0.0)))
    return tuple(changes)


def _shares(output: TaskOutput) -> list[dict[str, float]]:
    """The candidates that an answer names, for each blank; the likeliest of those that read alike."""
    match output:
        case FillMaskOutput():
            named = [list(mask) for mask in output.predictions]
        case SentimentOutput():
            named = [list(output.scores)]
        case QuestionAnsweringOutput():
            spans = [Prediction(each.text, each.score) for each in output.answers]
            named = [[*spans, Prediction(_NO_ANSWER, output.no_answer_score)]]
        case _:
            named = []
    return [{each.text.strip(): each.score for each in reversed(candidates)} for candidates in named]


def _without_new_blank(output: TaskOutput, other: TaskOutput) -> TaskOutput:
    """`output` without the blank that was put where `other` has a word, so that its other blanks can be compared."""
    if not isinstance(output, FillMaskOutput) or not isinstance(other, FillMaskOutput):
        return output
    if len(output.predictions) != len(other.predictions) + 1:
        return output
    pairs = zip(output.tokens, other.tokens, strict=False)
    same = next((place for place, (one, another) in enumerate(pairs) if one.id != another.id), 0)
    new = sum(token.is_blank for token in output.tokens[:same])
    return replace(output, predictions=output.predictions[:new] + output.predictions[new + 1 :])


def what_changed(before: TaskOutput, after: TaskOutput) -> str:
    """The likeliest answer before and after, or where two texts part."""
    before, after = _without_new_blank(before, after), _without_new_blank(after, before)
    match before, after:
        case ((CompletionOutput() | TranslationOutput()), (CompletionOutput() | TranslationOutput())):
            return _texts(written(before), written(after))
        case _:
            return _answers(_best(before), _best(after), _share_of(after, _best(before).text))


def _best(output: TaskOutput) -> Prediction:
    match output:
        case SentimentOutput():
            return max(output.scores, key=lambda each: each.score)
        case FillMaskOutput():
            return Prediction(output.predictions[0][0].text.strip(), output.predictions[0][0].score)
        case QuestionAnsweringOutput() if output.answered:
            return Prediction(output.answers[0].text, output.answers[0].score)
        case QuestionAnsweringOutput():
            return Prediction(_NO_ANSWER, output.no_answer_score)
        case _:
            raise TypeError(f"{type(output).__name__} has no single best answer")


def _share_of(output: TaskOutput, text: str) -> float | None:
    """The probability that `output` gives to what was the best answer; none if that is not among those it names."""
    match output:
        case SentimentOutput():
            named = output.scores
        case FillMaskOutput():
            named = output.predictions[0]
        case QuestionAnsweringOutput():
            found = [Prediction(each.text, each.score) for each in output.answers]
            named = (*found, Prediction(_NO_ANSWER, output.no_answer_score))
        case _:
            named = ()
    return next((each.score for each in named if each.text.strip() == text), None)


def _answers(before: Prediction, after: Prediction, now: float | None) -> str:
    if before.text == after.text:
        if percent(before.score) == percent(after.score):
            return f"Nothing that shows: “{after.text}” keeps {percent(after.score)} of the probability."
        return (
            f"The answer stays “{after.text}”, with {percent(after.score)} of the probability instead of "
            f"{percent(before.score)}."
        )
    left = f"; “{before.text}” falls to {percent(now)}" if now is not None else ""
    return (
        f"The answer turns from “{before.text}” ({percent(before.score)}) into “{after.text}” "
        f"({percent(after.score)}){left}."
    )


def written(output: TaskOutput) -> str:
    """The text that a model wrote, empty for a model that writes none."""
    if isinstance(output, TranslationOutput):
        return output.translations[0].text
    return output.text if isinstance(output, CompletionOutput) else ""


def _texts(before: str, after: str) -> str:
    if before == after:
        return "Nothing that shows: the text is the same, word for word."
    first, second = before.split(), after.split()
    same = next(
        (place for place, (one, other) in enumerate(zip(first, second, strict=False)) if one != other),
        min(len(first), len(second)),
    )
    if same == len(first):
        return f"The text goes on: “{second[same]}” comes after what was its end."
    if same == len(second):
        return f"The text ends early, before “{first[same]}”."
    return f"The texts part at word {same + 1}: “{second[same]}” instead of “{first[same]}”."


_NAMED_TOKENS = 48


def span_probabilities(output: QuestionAnsweringOutput) -> go.Figure:
    """Bars over the tokens of the best window; the special token in front stands for "no answer"."""
    names = categories(output.tokens)
    figure = go.Figure(layout={"template": TEMPLATE})
    for name, sign, colour, values in (
        ("start", 1, INK, output.start_probabilities),
        ("end", -1, AMBER, output.end_probabilities),
    ):
        figure.add_trace(
            go.Bar(
                name=name,
                x=names,
                y=[sign * round(value, 6) for value in values],
                customdata=[round(value, 6) for value in values],
                marker={"color": colour, "line": {"width": 0}},
                hovertemplate=f"“%{{x}}” as the {name}: %{{customdata:.1%}}<extra></extra>",
            )
        )
    top = max(*output.start_probabilities, *output.end_probabilities, 0.01)
    ticks = [top, 0, -top]
    figure.update_layout(
        height=230,
        barmode="relative",
        bargap=0.1,
        xaxis={
            "type": "category",
            "tickangle": -60,
            "tickfont": {"size": 11},
            **({"tickmode": "array", "tickvals": names} if len(names) <= _NAMED_TOKENS else {}),
        },
        yaxis={
            "range": [-1.08 * top, 1.08 * top],
            "tickvals": ticks,
            "ticktext": [f"{abs(tick):.0%}" for tick in ticks],
            "zeroline": True,
            "zerolinewidth": 1,
            "zerolinecolor": "rgba(127,127,127,0.6)",
            "title": {"text": "end · start"},
        },
    )
    return figure
