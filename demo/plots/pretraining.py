"""Pre-training and fine-tuning in one picture, with the figures of the bundled models' cards."""

import html
from collections.abc import Sequence
from dataclasses import dataclass

from demo.language import N_, _
from models.registry import REGISTRY


@dataclass(frozen=True)
class Head:
    """A task head on a pre-trained network, its tab and checkpoint, what it `learned` from and how `well` it does."""

    tab: str
    name: str
    checkpoint: str
    learned: str
    well: str


ON_THE_ENCODER = (
    Head("fill-mask", N_("Fill the blank"), "clearhead-minilm",
         N_("more blanks, in 37.3 million tokens; 30,522 pieces to choose among"), N_("46.6 % of blanks right")),
    Head("sentiment", N_("Sentiment"), "clearhead-sentiment",
         N_("2 labels; 42,000 phrases of film reviews"), N_("91.2 % right")),
    Head("questions", N_("Questions"), "clearhead-qa",
         N_("2 places, start and end; questions on paragraphs"), N_("F1 75.0")),
    Head("names", N_("Names"), "clearhead-names", N_("9 labels for each token; newspapers of 1996"), N_("F1 90.0")),
    Head("two-sentences", N_("Two sentences"), "clearhead-pairs",
         N_("7 labels; pairs of sentences"), N_("74.3 % right on SNLI")),
)  # fmt: skip
"""The figures are those of the models' cards; a test compares them."""

ON_THE_DECODER = (
    Head("write-on", N_("Write on"), "clearhead-stories", N_("no new head: it writes what it foresees"), ""),
    Head("surprise", N_("Surprise"), "clearhead-stories", N_("no new head: how well it foresees your text"), ""),
)


def pretraining_picture() -> str:
    """HTML with a row each for the encoder and the decoder: its pre-training, and its uses, each linked to its tab."""
    stories = REGISTRY["clearhead-stories"].parameters / 1e6
    encoder = _(
        "Text with <strong>blanks</strong>, of which nobody marked anything: the blanked words are the answers. BERT "
        "learned so. The encoder here (6 layers, 384 numbers a token) is all-MiniLM-L6-v2: its makers let a small "
        "network imitate a larger one of that kind, and then trained it to tell sentences apart."
    )
    decoder = _(
        "Text without marks again: each <strong>next token</strong> is the answer. {millions:.0f} million numbers, "
        "from random ones on, with stories, film reviews and everyday texts.",
        millions=stories,
    )
    about = _(
        "Both steps are the one above, taken many thousand times. First on much text without labels, once; then on far "
        "fewer labelled examples for each task, where the network goes on from what it knows and only a small new "
        "part, the <em>task head</em>, begins with random numbers."
    )
    return (
        f'<section class="two-trainings" aria-label="{_("Pre-training and fine-tuning")}">'
        f"<h2>{_('Learned twice: pre-training, then fine-tuning')}</h2><p class='quiet'>{about}</p>"
        f"{_row(_('BERT’s way: pre-training'), encoder, ON_THE_ENCODER, _('Fine-tuning: one head each'))}"
        f"{_row(_('GPT’s way: pre-training'), decoder, ON_THE_DECODER, _('Then: used as it is'))}</section>"
    )


def _row(first: str, pretrained: str, heads: Sequence[Head], then: str) -> str:
    boxes = "".join(
        f'<li><a href="?tab={each.tab}">{_(each.name)}</a> <span>{html.escape(_(each.learned))}</span>'
        f"{f' <strong>{_(each.well)}</strong>' if each.well else ''}</li>"
        for each in heads
    )
    return (
        f'<div class="two-steps"><div class="once"><h3>{first}</h3><p>{pretrained}</p></div>'
        f'<p class="then" aria-hidden="true">→</p><div class="each"><h3>{then}</h3>'
        f"<ul>{boxes}</ul></div></div>"
    )
