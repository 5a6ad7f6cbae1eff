"""Step 4: the same text through an encoder, which looks both ways, and a decoder, which looks back only."""

from dataclasses import replace

import gradio as gr

from demo.plots.reading import percent
from demo.plots.walk import scores_matrix, shares_matrix
from demo.reader.table import KEEP_OPEN
from demo.walk.head import create_own_numbers, worked_square
from demo.walk.step import BuiltStep, InsideControls, WalkStep, fold_out, named, number, table
from demo.walk.view import InsideRequest, look, require_drawable, within_reach
from demo.widgets import Updates
from demo.widgets.figure import drawn
from models.inside.outputs import Look

_TEXT = (
    "BERT fills blanks, so each token may look at every other. GPT-2 writes the next word, so a token that could look "
    "ahead would copy the answer: a <em>causal mask</em> puts −∞ in the place of every score above the diagonal, and "
    "as e to the power of −∞ is nothing, softmax gives those places no share. Nothing else is different."
)
_SIDES = (
    ("clearhead-minilm", "BERT looks both ways", "bert"),
    ("clearhead-stories", "GPT-2 looks back only", "gpt"),
)
_SCORES = "0.11 0.00 0.81 0.79\n0.19 0.50 0.30 0.48\n0.53 0.98 0.95 0.14\n0.81 0.86 0.38 0.90"
_EXAMPLES = {"the lecture’s scores": [_SCORES, 4], "the same, not divided": [_SCORES, 1]}
_DIVIDED = (
    "On the lecture’s slide the shares of the second row are 0.48 and 0.52. Softmax of 0.19 and 0.50 as they stand "
    "would be 0.42 and 0.58: the slide leaves out that the scores were divided by 4, which is √d<sub>k</sub> for keys "
    "of 16 numbers. No other whole number gives its rows; set the divisor to 1 to see."
)
_MOST_COLUMNS = 12


def _create(controls: InsideControls) -> BuiltStep:
    outputs: list[gr.HTML | gr.Plot] = []
    sides: list[tuple[str, gr.HTML, gr.Plot, gr.Plot, gr.HTML]] = []
    with gr.Row(elem_classes="masking-sides"):
        for name, title, key in _SIDES:
            with gr.Column(min_width=300):
                said = gr.HTML(f"<h3>{title}</h3>", elem_classes=["inside-finding", "room-1"], label=title)
                scores = gr.Plot(
                    label=f"{title}: scores", show_label=False, container=False,
                    elem_classes=["inside-plot", "heatmap-frame"], elem_id=f"masking-scores-{key}",
                )  # fmt: skip
                shares = gr.Plot(
                    label=f"{title}: shares", show_label=False, container=False,
                    elem_classes=["inside-plot", "heatmap-frame", "room-1"], elem_id=f"masking-shares-{key}",
                )  # fmt: skip
                numbers = gr.HTML("", js_on_load=KEEP_OPEN, elem_classes="inside-numbers", label="The numbers")
            sides.append((name, said, scores, shares, numbers))
            outputs += [said, scores, shares, numbers]
    gr.HTML("<h3>The lecture’s four tokens</h3>", label="The lecture's scores")
    with gr.Row(elem_classes="settings"):
        square = gr.Textbox(
            _SCORES, label="Scores", info="a line for each query; worked out when you leave the field",
            lines=4, max_lines=8,
        )  # fmt: skip
        divisor = gr.Slider(1, 16, 4, step=1, label="Divided by", info="√d_k")
    create_own_numbers(square, divisor, worked_square, "The lecture's masked scores", _EXAMPLES)
    gr.HTML(f'<p class="quiet">{_DIVIDED}</p>', label="Why four")

    def draw(request: InsideRequest) -> Updates:
        updates: Updates = {}
        for (name, said, scores, shares, numbers), (_, title, _key) in zip(sides, _SIDES, strict=True):
            seen = require_drawable(look(controls.inside, within_reach(replace(request, checkpoint=name, position=-1))))
            updates |= {
                said: f"<h3>{title}</h3>{masking_said(seen)}",
                scores: drawn(scores_matrix(seen)),
                shares: drawn(shares_matrix(seen)),
                numbers: masking_table(seen, title),
            }
        return updates

    return BuiltStep(draw, list(outputs))


def masking_said(seen: Look) -> str:
    """A sentence on the head that is shown and its weight on tokens that are still to come."""
    weights, count = seen.numbers.weights, len(seen.tokens)
    ahead = sum(float(weights[place, place + 1 :].sum()) for place in range(count)) / count
    if not seen.numbers.masked.any():
        share = f"{percent(ahead)} of its weight goes to tokens that come later."
    else:
        share = f"Masked: {int(seen.numbers.masked.sum())} of {count * count} places are −∞ and get no share."
    return (
        f'<p class="quiet">Layer {seen.layer + 1} of {seen.layers}, head {seen.head + 1} of {seen.heads}. {share} '
        f"Above: scores ÷ {seen.numbers.divisor:.2f}. Below: the shares that softmax makes of each row.</p>"
    )


def masking_table(seen: Look, title: str) -> str:
    """The shares of a short text in full; of a longer one each row's strongest."""
    head, tokens = seen.numbers, seen.tokens
    if len(tokens) <= _MOST_COLUMNS:
        heads = ["from \\ to", *(named(token) for token in tokens)]
        rows = [
            (
                named(token),
                *(
                    "−∞ → 0" if hidden else f"{number(float(score), 2)} → {number(float(share), 2)}"
                    for score, share, hidden in zip(
                        head.scaled[place], head.weights[place], head.masked[place], strict=True
                    )
                ),
            )
            for place, token in enumerate(tokens)
        ]
    else:
        heads = ["from", "may look at", "strongest", "its score", "its share"]
        rows = [
            (
                named(token),
                f"{int((~head.masked[place]).sum())} tokens",
                named(tokens[best]),
                number(float(head.scaled[place, best]), 2),
                number(float(head.weights[place, best]), 2),
            )
            for place, token in enumerate(tokens)
            for best in (int(head.weights[place].argmax()),)
        ]
    return fold_out("Scores and shares as a table", table(heads, rows), f"{title}: scores and shares")


MASKING = WalkStep(4, "masking", "Masked or not", _TEXT, _create, uses=frozenset({"layer", "head"}))
