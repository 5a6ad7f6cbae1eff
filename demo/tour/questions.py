"""Questions about a visitor's own run: the choices, the right one and the reason in numbers, from a typed result."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from demo.language import N_, _
from demo.plots.reading import link_to_read, named, percent, place
from demo.plots.view import AttentionView, is_resting_place, shown, view_of
from models.errors import InputError
from models.outputs.attention import Attentions
from models.outputs.base import Prediction, TaskOutput
from models.outputs.encoders import FillMaskOutput, QuestionAnsweringOutput, SentimentOutput
from models.outputs.surprise import SurpriseOutput
from models.outputs.writing import CompletionOutput
from models.registry import Task
from models.text.words import is_content_word, word_rows, word_text, words_of
from models.wording import Sentence

ASKS: dict[str, tuple[Task, ...]] = {
    "label": (Task.SENTIMENT,),
    "blank": (Task.FILL_MASK,),
    "answer": (Task.QUESTION_ANSWERING,),
    "following": (Task.COMPLETION,),
    "surprise": (Task.SURPRISE,),
    "looks": (Task.SENTIMENT, Task.FILL_MASK, Task.TRANSLATION),
    "head": (Task.SENTIMENT, Task.FILL_MASK),
}
"""The kinds of question and their tasks. “looks” and “head” are about attention, so the run comes before them."""
MOST_CHOICES = 4
NO_ANSWER = Sentence("nowhere: no answer in this text")
TOO_SHORT = N_("This text has too few words for the question.")
_NUMBERS_SAID = 3
_PRONOUNS = frozenset(("it", "he", "she", "they", "him", "her", "them"))


@dataclass(frozen=True)
class Look:
    """The subject of a question about attention: a query's position, in words, at a layer and head, all from 0.

    `MEAN` as layer or head stands for the mean of them, as in `AttentionView`.
    """

    query: int
    layer: int
    head: int


@dataclass(frozen=True)
class Question:
    """The `choices` of a question, the `right` one, and the sentence that gives the reason with the run's numbers.

    A choice is a word of the visitor's or the model's, or a `Sentence`, the same in every language. A question about
    attention has the `look` that it asks about, and the `word` there.
    """

    choices: tuple[str, ...]
    right: str
    because: str
    look: Look | None = None
    word: str = ""


def shown_choice(choice: str) -> str:
    """A choice as the visitor reads it."""
    return _(choice) if isinstance(choice, Sentence) else choice


def about(output: TaskOutput, own: str = "") -> Question:
    """The question about an answer; `own` is the word that the visitor left out of the text, where that is known."""
    match output:
        case SentimentOutput():
            return label(output)
        case FillMaskOutput():
            return blank(output, own)
        case QuestionAnsweringOutput():
            return answer(output)
        case CompletionOutput():
            return following(output, own)
        case SurpriseOutput():
            return surprise(output)
    raise InputError(N_("There is no question about this."))


def label(output: SentimentOutput) -> Question:
    """Ask which label is the likeliest."""
    ranked = sorted(output.scores, key=lambda each: -each.score)
    choices = tuple(Sentence(each.text) for each in output.scores)
    because = _because([Prediction(_(each.text), each.score) for each in ranked])
    return Question(choices, Sentence(output.label), because)


def blank(output: FillMaskOutput, own: str = "") -> Question:
    """Ask which word is the likeliest at the first blank; `own` is the word that the visitor blanked out, if known."""
    return _likeliest(output.predictions[0], own)


def following(output: CompletionOutput, own: str = "") -> Question:
    """Ask which token is the likeliest after the prompt; `own` is the word that the visitor wrote there, if any."""
    first = output.generated[0]
    found = {each.text.strip(): each.score for each in first.alternatives if each.text.strip()}
    if first.token.text.strip() and not first.token.special:
        found.setdefault(first.token.text.strip(), first.probability)
    return _likeliest([Prediction(*each) for each in found.items()], own)


def _likeliest(candidates: Iterable[Prediction], own: str) -> Question:
    ranked = sorted(candidates, key=lambda each: -each.score)
    top = list(dict.fromkeys(each.text for each in ranked))[:MOST_CHOICES]
    because = _because(ranked)
    if own and not any(own.casefold() == each.casefold() for each in top):
        top = [*top[: MOST_CHOICES - 1], own]
        score = next((each.score for each in ranked if each.text.casefold() == own.casefold()), None)
        because += " " + (
            _("Your own word “{word}” has {share}.", word=own, share=percent(score))
            if score is not None
            else _("Your own word “{word}” is not among its first {count}.", word=own, count=len(ranked))
        )
    return _question(top, ranked[0].text if ranked else "", because)


def answer(output: QuestionAnsweringOutput) -> Question:
    """Ask where the answer stands."""
    found = [Prediction(each.text, each.score) for each in output.answers]
    spans = list(dict.fromkeys(each.text for each in found))[: MOST_CHOICES - 1]
    right = output.answers[0].text if output.answered else NO_ANSWER
    said = {"word": found[0].text, "share": percent(found[0].score), "none": percent(output.no_answer_score)}
    because = (
        _(
            "The model gives “{word}” {share} of its probability, {others}, and “no answer” {none}.",
            **said,
            others=_listed(found[1:_NUMBERS_SAID]),
        )
        if found[1:]
        else _("The model gives “{word}” {share} of its probability, and “no answer” {none}.", **said)
    )
    return Question((*sorted(spans, key=str.casefold), NO_ANSWER), right, because)


def surprise(output: SurpriseOutput) -> Question:
    """Ask which word surprised the model most; a word's bits are the sum over its tokens."""
    measured = output.text.tokens
    tokens = [each.token for each in measured]
    words = [word for word in words_of(tokens) if word_text(tokens, word).strip()]
    words.sort(key=lambda word: -sum(measured[place].bits for place in word))
    names = list(dict.fromkeys(word_text(tokens, word) for word in words))
    most = []
    for word in words[:_NUMBERS_SAID]:
        pieces = " + ".join(_bits(tokens[place].text.strip(), measured[place].bits) for place in word)
        whole = _bits(word_text(tokens, word), sum(measured[place].bits for place in word))
        most.append(whole if len(word) == 1 else f"{whole} ({pieces})")
    because = _("Bits of surprise: {words}.", words=", ".join(most))
    return _question(names[:MOST_CHOICES], names[0] if names else "", because)


def looks(attentions: Attentions, look: Look) -> Question:
    """Ask which word a word gives most weight to, without marks and full stops, as in the coloured sentence."""
    view = _view(attentions, look.layer, look.head)
    if not 0 <= look.query < len(view.query_tokens):
        raise InputError(TOO_SHORT)
    view = replace(view, token=look.query)
    row = np.where(view.masked[look.query], -1.0, view.weights[look.query])
    order = [key for key in np.argsort(-row, kind="stable").tolist() if row[key] >= 0 and _is_word(view, key)]
    best, word = link_to_read(view)[1], named(view.query_tokens[look.query])
    # The word itself is no choice, unless it gets most weight.
    others = [key for key in order if view.two_texts or key != look.query]
    names = list(dict.fromkeys(named(view.key_tokens[key]) for key in (best, *others)))
    most = [(percent(float(row[key])), named(view.key_tokens[key])) for key in order[:2]]
    said = {"word": word, "share": most[0][0], "to": most[0][1], "where": place(view)}
    because = (
        _(
            "“{word}” gives {share} of its weight to “{to}”, {next_share} to “{next_to}” {where}.",
            **said,
            next_share=most[1][0],
            next_to=most[1][1],
        )
        if len(most) > 1
        else _("“{word}” gives {share} of its weight to “{to}” {where}.", **said)
    )
    asked = _question(names[:MOST_CHOICES], names[0], because)
    return replace(asked, look=look, word=word)


def look_of(attentions: Attentions, word: str, layer: int, head: int) -> Look:
    """The look of `word`, at its first place in the text; raises `InputError` where it is no word of the text."""
    names = [named(token) for token in _view(attentions, layer, head).query_tokens]
    if word not in names:
        raise InputError(Sentence("“{word}” is no word of the text.", word=word))
    return Look(names.index(word), layer, head)


def word_to_ask(attentions: Attentions, layer: int, head: int, seen: str = "") -> Look:
    """The word to ask about at the layer and head on the page, other than `seen`, which the page points at already.

    It is the one that gives most weight to another word, a content word if there is one. Raises `InputError` if none
    does.
    """
    view = _view(attentions, layer, head)
    found = []
    for query, token in enumerate(view.query_tokens):
        name, key = named(token), link_to_read(replace(view, token=query))[1]
        itself = not view.two_texts and query == key
        if token.special or itself or name == seen or not _is_word(view, key) or not is_content_word(name, frozenset()):
            continue
        found.append((is_content_word(name), float(view.weights[query, key]), -query))
    if not found:
        raise InputError(TOO_SHORT)
    return Look(-max(found)[-1], layer, head)


def head_to_ask(attentions: Attentions, layer: int, head: int) -> Look:
    """A pronoun, or else a content word, in the head where it gives most weight to a content word further away.

    `layer` and `head` are those that the page shows, where the word looks at another one. Raises `InputError` if there
    is no such head.
    """
    attention, view = next(iter(attentions.values())), _view(attentions, layer, head)
    names = [named(token) for token in view.query_tokens]
    asked = [query for query, name in enumerate(names) if name.casefold() in _PRONOUNS]
    asked = asked or [query for query, name in enumerate(names) if _is_word(view, query) and is_content_word(name)]
    queries, found = words_of(attention.query_tokens), []
    for query in asked:
        now = link_to_read(replace(view, token=query))[1]
        _kind, rows = word_rows(attention, queries[query])
        rows = np.where([_is_word(view, key) for key in range(len(names))], rows, -1.0)
        for key in range(len(names)):
            if abs(key - query) > 1 and key != now and not view.key_tokens[key].special and is_content_word(names[key]):
                given = np.where(rows.argmax(axis=-1) == key, rows[:, :, key], -1.0)
                found.append((float(given.max()), query, int(given.argmax())))
    if not found or max(found)[0] < 0:
        raise InputError(TOO_SHORT)
    _given, query, place_of_head = max(found)
    return Look(query, *divmod(place_of_head, attention.heads))


def _view(attentions: Attentions, layer: int, head: int) -> AttentionView:
    """The reader's view of the first kind of attention at a layer and head, over words."""
    return shown(view_of(attentions, layer=layer, head=head))


def _is_word(view: AttentionView, key: int) -> bool:
    return not is_resting_place(view.key_tokens[key])


def _question(choices: list[str], right: str, because: str) -> Question:
    if len(choices) < 2:
        raise InputError(TOO_SHORT)
    return Question(tuple(sorted(choices, key=str.casefold)), right, because)


def _because(ranked: Sequence[Prediction]) -> str:
    """A sentence on the probabilities that the model gives the likeliest choices."""
    first, *others = ranked[:_NUMBERS_SAID] or [Prediction("", 0.0)]
    said = {"word": first.text, "share": percent(first.score)}
    if others:
        return _("The model gives “{word}” {share} of its probability, {others}.", **said, others=_listed(others))
    return _("The model gives “{word}” {share} of its probability.", **said)


def _listed(predictions: Iterable[Prediction]) -> str:
    return ", ".join(_("“{word}” {share}", word=each.text, share=percent(each.score)) for each in predictions)


def _bits(word: str, bits: float) -> str:
    return _("“{word}” {bits:.1f}", word=word, bits=bits)
