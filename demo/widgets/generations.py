"""HTML on how a model before Transformers read a text: what each part adds to its answer, and its inner numbers."""

import html
import math
from collections import Counter

from demo.language import N_, _, ngettext
from demo.plots.generations import MOST_WORDS, strip_image
from demo.plots.reading import decimals, percent
from models.outputs.before import Part, Reading, Strip
from models.wording import Sentence

_STRONGEST = 10
_STEPS = 7
_FULL = 1.5
"""The contribution to the log-odds that has the full colour."""

_HOW = {
    "bag_of_words": N_("Every word has one weight. The weights are added, in whatever order the words stand."),
    "bag_of_ngrams": N_("Every run of one, two or three words that it knows has one weight. The weights are added."),
    "cbow": N_(
        "Every word is a vector of 100 numbers. The vectors are added, and one weight for each number makes the "
        "answer: still, each word adds its own part and knows nothing of the others."
    ),
    "deep_cbow": N_(
        "The words’ vectors are added; two hidden layers read the sum, so that words can change each other’s "
        "effect, though not by their order. Below: the features of the last layer that counted most."
    ),
    "deep_averaging": N_(
        "As deep CBOW, with the mean of the vectors; while it learned, whole words were left out at "
        "random. Below: the features of the last layer that counted most."
    ),
    "convolution": N_(
        "192 filters slide over two, three or four words at a time; of each, only its strongest place "
        "counts (max over time). Below: those places, and what their filters add together."
    ),
    "elman": N_(
        "It reads word by word and keeps a state of 100 numbers. Below: how far each word moved the answer, and "
        "the answer if the text ended there."
    ),
    "lstm": N_(
        "As Elman’s, with a memory and three gates, which decide what comes in, what stays and what is told. "
        "Below: how far each word moved the answer, and the answer if the text ended there."
    ),
    "bilstm": N_(
        "Two LSTMs, one reading backwards; the answer is made of both last states. Below: how far each word "
        "moved the two answers, added up."
    ),
    "fine_tuned": N_(
        "An LSTM that had learned to guess the next word in reviews of six million words, and then learned "
        "to judge. Its last state, the mean and the greatest of all count. Below: how far each word moved the answer."
    ),
    "frozen": N_(
        "Each word is its vector and the two states of a language model where it stands, so that a word means "
        "something else in another sentence; these stay as they are. Below: what each word adds."
    ),
    "bert": N_("Every word looks at every other, in six layers. The reader below shows at what."),
}
_BY_COUNT = ("deep_cbow", "deep_averaging", "convolution", "bag_of_ngrams")
_COURSE = ("elman", "lstm", "fine_tuned")


def opened_row(key: str, reading: Reading | None, words: tuple[str, ...]) -> str:
    """The HTML that a row opens into: how that model reads and, given a `reading`, how it read the text of `words`."""
    about = f"<p>{_(_HOW[key])}</p>"
    if reading is None:
        return f"<div class='opened'>{about}</div>"
    parts = _strongest(reading) if key in _BY_COUNT else _in_order(reading, words, key in _COURSE)
    added = reading.log_odds - reading.bias
    total = _(
        "Bias {bias} and all parts {parts} make log-odds of {log_odds}: {share} positive.",
        bias=decimals(reading.bias, "+"),
        parts=decimals(added, "+"),
        log_odds=decimals(reading.log_odds, "+"),
        share=percent(share(reading.log_odds)),
    )
    strips = "".join(_strip(each, words) for each in reading.strips)
    return f"<div class='opened'>{about}{parts}<p class='quiet'>{total}</p>{strips}</div>"


def share(log_odds: float) -> float:
    """The probability for `log_odds`, by the logistic function."""
    return 1 / (1 + math.exp(-log_odds))


def _in_order(reading: Reading, words: tuple[str, ...], course: bool) -> str:
    """HTML list of each word and what it adds, from left to right; with `course` also the answer after it."""
    items = ""
    for part, word, after in zip(reading.parts, words, reading.course, strict=True):
        then = f"<small>{percent(share(after))}</small>" if course else ""
        items += _item(Part(word, part.adds), then)
    said = _("Each word, what it adds to the log-odds")
    if course:
        said = _("Each word, what it adds to the log-odds, and how likely positive is after it")
    return f"<ol class='adds' aria-label='{html.escape(said)}'>{items}</ol>"


def _strongest(reading: Reading) -> str:
    """HTML list of the parts that add most; parts of one name are summed, and their number is shown."""
    sums, counts = Counter[str](), Counter(part.text for part in reading.parts)
    for part in reading.parts:
        sums[part.text] += part.adds  # type: ignore[assignment]
    chosen = sorted(sums.items(), key=lambda each: -abs(each[1]))[:_STRONGEST]
    items = "".join(
        _item(
            Part(_(text) if isinstance(text, Sentence) else text, adds),
            f"<small>{counts[text]} ×</small>" if counts[text] > 1 else "",
        )
        for text, adds in chosen
    )
    rest = len(sums) - len(chosen)
    said = ngettext("And {count} more that add less each.", "And {count} more that add less each.", rest)
    more = f"<p class='quiet'>{said}</p>" if rest > 0 else ""
    name = html.escape(_("The parts that add most to the log-odds"))
    return f"<ol class='adds' aria-label='{name}'>{items}</ol>{more}"


def _item(part: Part, more: str) -> str:
    step = max(-_STEPS, min(_STEPS, round(_STEPS * part.adds / _FULL)))
    word = f"<span data-step='{step}'><bdi>{html.escape(part.text)}</bdi></span>"
    return f"<li>{word}<small>{decimals(part.adds, '+')}</small>{more}</li>"


def _strip(strip: Strip, words: tuple[str, ...]) -> str:
    count, width = strip.rows.shape
    names = words[:MOST_WORDS] if count > 1 else ("",)
    labels = "".join(f"<bdi>{html.escape(name) or '&nbsp;'}</bdi>" for name in names)
    said = _("{name}: {width} numbers", name=_(strip.name), width=width)
    if count > 1:
        said = _("{name}: {rows} rows of {width} numbers", name=_(strip.name), rows=count, width=width)
    alt = html.escape(_("{said}, orange below zero, blue above", said=said))
    return (
        f"<figure class='strip'><figcaption>{said}</figcaption><div><div aria-hidden='true'>{labels}</div>"
        f"<img src='{strip_image(strip.rows)}' alt='{alt}'></div></figure>"
    )
