"""Step 6: from the last vector to a word, and what the word would have been after every layer."""

import html

import gradio as gr

from demo.plots.reading import percent
from demo.plots.walk import strip_top
from demo.reader.table import KEEP_OPEN
from demo.walk.step import BuiltStep, InsideControls, WalkStep, few, fold_out, named, number, strip, table
from demo.walk.view import InsideRequest, look_at_guess
from demo.widgets import Updates
from models.inside.outputs import Guess, Lens, Look

_TEXT = (
    "At the end the vector is multiplied by one last learned table (<em>linear</em>), which has a column for each "
    "choice: every word of the vocabulary gets a score, its <em>logit</em>, and softmax turns these into "
    "probabilities. The same last step can be asked what it makes of the vector after each earlier layer, as if the "
    "model stopped there: the <em>logit lens</em>. Early guesses are often only what stands there already, or what is "
    "frequent."
)
_ABOUT = {
    "word here": "Which word stands at “{token}”?",
    "next word": "Which word comes after “{token}”?",
    "label": "Which label fits the text? A classifier reads it off its first token.",
    "first token of the answer": "Where in the second text does the answer begin? At [CLS] it would say: nowhere.",
}
_FIRST_WORD = "With which word does the translation begin?"
_STEPS = 7


def _create(controls: InsideControls) -> BuiltStep:
    finding = gr.HTML("", elem_classes=["inside-finding", "room-1"], label="The guess")
    picture = gr.HTML("", elem_classes=["inside-picture", "room-2"], label="From the vector to the word")
    guesses = gr.HTML("", elem_classes=["inside-picture", "room-1"], label="The guess after every layer")
    numbers = gr.HTML("", js_on_load=KEEP_OPEN, elem_classes="inside-numbers", label="The numbers")

    def draw(request: InsideRequest) -> Updates:
        seen = look_at_guess(controls.inside, request)
        lens = seen.lens
        if lens is None:
            raise TypeError(f"{request.checkpoint} guesses nothing")
        return {
            finding: lens_said(seen, lens),
            picture: last_step_picture(seen, lens),
            guesses: lens_picture(lens),
            numbers: lens_table(lens),
        }

    return BuiltStep(draw, [finding, picture, guesses, numbers])


def lens_said(seen: Look, lens: Lens) -> str:
    """The question, the model's answer, and the layer after which that answer leads for good, as a sentence."""
    final = lens.layers[-1].guesses[0]
    since = len(lens.layers) - 1
    while since and lens.layers[since - 1].guesses[0].text == final.text:
        since -= 1
    asked = _FIRST_WORD if len(seen.kinds) > 1 else _ABOUT[lens.about].format(token=named(seen.tokens[lens.position]))
    if not since:
        when = "It leads from the input on."
    elif since == len(lens.layers) - 1:
        when = "Only the last layer brings it to the front."
    else:
        when = f"It leads after layer {since}, and stays in front."
    return (
        f'<p class="read-out" aria-live="polite">{asked} “{_shown(final)}”, with {percent(final.probability)} of the '
        f"probability. {when}</p>"
    )


def last_step_picture(seen: Look, lens: Lens) -> str:
    """The last vector, the sizes of the last map, and the likeliest choices as bars."""
    width = len(lens.vector)
    bars = "".join(
        f'<li><span class="bar-name">{_shown(guess)}</span><span class="bar-track">'
        f'<span style="width:{100 * guess.probability:.1f}%"></span></span>'
        f'<span class="bar-number">{percent(guess.probability)}</span></li>'
        for guess in lens.layers[-1].guesses
    )
    return (
        '<div class="block-diagram"><div class="block-part"><ol>'
        f'<li><span class="station"><span class="station-name"><b>last vector</b> <span class="quiet">of '
        f"“{named(seen.tokens[lens.position])}”</span></span>"
        f'<span class="station-size">{width} numbers</span>{strip(lens.vector, strip_top(lens.vector))}</span></li>'
        f'<li><span class="arrow"><span aria-hidden="true">↓</span> linear: {width} × {lens.choices:,}, softmax</span>'
        f'<span class="station"><span class="station-name"><b>probabilities</b></span>'
        f'<span class="station-size">{lens.choices:,} choices</span><ul class="bars">{bars}</ul></span></li>'
        "</ol></div></div>"
    )


def lens_picture(lens: Lens) -> str:
    """A row for each layer, the last one on top, with the likeliest guesses coloured by their probability."""
    most = max(len(each.guesses) for each in lens.layers)
    final = lens.layers[-1].guesses[0].text
    rows = "".join(
        f'<tr><th scope="row">{"input" if each.layer == 0 else each.layer}</th>'
        + "".join(_cell(guess, final) for guess in each.guesses)
        + "</tr>"
        for each in reversed(lens.layers)
    )
    heads = "".join(
        f'<th scope="col">{name}</th>'
        for name in ("after layer", "likeliest", "second", "third", "fourth", "fifth")[: most + 1]
    )
    return (
        '<h3>The guess after every layer</h3><div class="table-frame lens" role="region" aria-label="The guess after '
        f'every layer" tabindex="0"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
        '<p class="quiet">The stronger the colour, the more probable; the final guess is framed wherever it stands.</p>'
    )


def lens_table(lens: Lens) -> str:
    """Logits and probabilities of the likeliest guesses after every layer."""
    rows = [
        (
            "input" if each.layer == 0 else f"layer {each.layer}",
            *(f"{_shown(guess)}: {number(guess.logit, 2)} → {number(guess.probability, 4)}" for guess in each.guesses),
        )
        for each in lens.layers
    ]
    most = max(len(row) for row in rows)
    padded = [row + ("",) * (most - len(row)) for row in rows]
    heads = ["after", *(f"{place}: logit → probability" for place in range(1, most))]
    width = len(lens.vector)
    said = f"<p>last vector: {few(lens.vector, 8)} ({width} numbers)</p>"
    return fold_out("The logits as a table", said + table(heads, padded), "Logits and probabilities after every layer")


def _cell(guess: Guess, final: str) -> str:
    step = min(_STEPS, round(guess.probability * _STEPS + 0.4))
    framed = " final-guess" if guess.text == final else ""
    return (
        f'<td class="lens-cell step-{step}{framed}"><span>{_shown(guess)}</span> '
        f'<span class="lens-share">{percent(guess.probability)}</span></td>'
    )


def _shown(guess: Guess) -> str:
    return f"<bdi>{html.escape(guess.text.strip() or '␣')}</bdi>"


LENS = WalkStep(6, "guess", "Out again", _TEXT, _create, uses=frozenset({"position"}))
