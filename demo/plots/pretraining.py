"""Pre-training and fine-tuning in one picture, with the figures of the bundled models' cards."""

import html
from collections.abc import Sequence
from dataclasses import dataclass

from models.registry import REGISTRY


@dataclass(frozen=True)
class Head:
    """What was put on a pre-trained network: the tab, its `name`, what it `learned` from and how `well` it does it."""

    tab: str
    name: str
    checkpoint: str
    learned: str
    well: str


ON_THE_ENCODER = (
    Head("fill-mask", "Fill the blank", "clearhead-minilm",
         "more blanks, in 37.3 million tokens; 30,522 pieces to choose among", "46.6 % of blanks right"),
    Head("sentiment", "Sentiment", "clearhead-sentiment", "2 labels; 42,000 phrases of film reviews", "91.3 % right"),
    Head("questions", "Questions", "clearhead-qa", "2 places, start and end; questions on paragraphs", "F1 75.0"),
    Head("names", "Names", "clearhead-names", "9 labels for each token; newspapers of 1996", "F1 90.0"),
    Head("two-sentences", "Two sentences", "clearhead-pairs", "7 labels; pairs of sentences", "74.3 % right on SNLI"),
)  # fmt: skip
"""The figures are those of the models' cards; a test compares them."""

ON_THE_DECODER = (
    Head("write-on", "Write on", "clearhead-stories", "no new head: it writes what it foresees", ""),
    Head("surprise", "Surprise", "clearhead-stories", "no new head: how well it foresees your text", ""),
)


def pretraining_picture() -> str:
    """Two rows: a network that learned language once, and what was made of it; each box opens its tab."""
    stories = REGISTRY["clearhead-stories"].parameters / 1e6
    encoder = (
        "Text with <strong>blanks</strong>, of which nobody marked anything: the blanked words are the answers. BERT "
        "learned so. The encoder here (6 layers, 384 numbers a token) is all-MiniLM-L6-v2: its makers let a small "
        "network imitate a larger one of that kind, and then trained it to tell sentences apart."
    )
    decoder = (
        f"Text without marks again: each <strong>next token</strong> is the answer. {stories:.0f} million numbers, "
        "from random ones on, with stories and film reviews."
    )
    rows = _row("BERT’s way", encoder, ON_THE_ENCODER, "one head each")
    return (
        '<section class="two-trainings" aria-label="Pre-training and fine-tuning"><h2>Learned twice: pre-training, '
        "then fine-tuning</h2><p class='quiet'>Both steps are the one above, taken many thousand times. First on "
        "much text without labels, once; then on far fewer labelled examples for each task, where the network goes on "
        f"from what it knows and only a small new part, the <em>task head</em>, begins with random numbers.</p>{rows}"
        f"{_row('GPT’s way', decoder, ON_THE_DECODER, 'used as it is')}</section>"
    )


def _row(name: str, pretrained: str, heads: Sequence[Head], how: str) -> str:
    boxes = "".join(
        f'<li><a href="?tab={each.tab}">{each.name}</a> <span>{html.escape(each.learned)}</span>'
        f"{f' <strong>{each.well}</strong>' if each.well else ''}</li>"
        for each in heads
    )
    return (
        f'<div class="two-steps"><div class="once"><h3>{name}: pre-training</h3><p>{pretrained}</p></div>'
        f'<p class="then" aria-hidden="true">→</p><div class="each"><h3>{"Fine-tuning" if len(heads) > 2 else "Then"}: '
        f"{how}</h3><ul>{boxes}</ul></div></div>"
    )
