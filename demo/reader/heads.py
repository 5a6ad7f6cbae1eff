"""All heads as one picture, and how far attention agrees with attribution."""

import html
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import gradio as gr
import numpy as np
from numpy.typing import NDArray

from demo.plots.reading import named, percent
from demo.plots.sheet import SheetGeometry, attention_sheet, data_uri, sheet_geometry, strip
from demo.plots.view import is_resting_place
from demo.theme import ASSETS
from demo.widgets import Updates
from models.explain.head_roles import BROAD, NONE, HeadGroup, head_groups, head_roles
from models.outputs import Attention, HeadRole, Token
from models.text.words import word_rows, word_text

_HELP = (
    '<p class="quiet">One small picture for each head: a row for each layer, a column for each head. Choose one to '
    "open it above; with the keyboard, move by arrow keys.</p>"
)


@dataclass(frozen=True, eq=False)
class HeadSheet:
    """The section, whether it is unfolded, and in it the groups of heads for the chosen word and the sheet."""

    section: gr.Accordion
    unfolded: gr.State
    agreement: gr.HTML
    picture: gr.HTML

    @property
    def outputs(self) -> list[gr.HTML]:
        """The components that another source or kind of attention changes."""
        return [self.agreement, self.picture]

    def hide(self, sentence: str = "") -> Updates:
        """The updates that leave the section without pictures, for the reason that `sentence` says."""
        alert = f'<p role="alert">{html.escape(sentence)}</p>' if sentence else ""
        return {self.agreement: alert, self.picture: ""}


def create_head_sheet() -> HeadSheet:
    """A folded section; nothing is drawn before it is unfolded."""
    unfolded = gr.State(False)
    with gr.Accordion("All heads at once", open=False, elem_classes="tool heads-tool") as section:
        script = (ASSETS / "scripts" / "head_sheet.js").read_text(encoding="utf-8")
        agreement = gr.HTML("", js_on_load=script, elem_classes="agreement-box", label="Heads that agree")
        gr.HTML(_HELP)
        picture = gr.HTML("", js_on_load=script, elem_classes="sheet-box", label="All heads")
    return HeadSheet(section, unfolded, agreement, picture)


def sheet(attention: Attention) -> str:
    """The picture with a button over each thumbnail, layers and heads numbered from 1, and how many heads do what."""
    geometry, roles = sheet_geometry(attention), head_roles(attention)
    cells = "".join(_cell(geometry, role) for role in roles)
    return (
        f'<div class="numbered-sheet" style="max-width:{max(geometry.width, 760)}px">'
        f'<span class="sheet-corner" aria-hidden="true">layer&nbsp;↓ head&nbsp;→</span>{_numbers(geometry)}'
        f'<div class="sheet" role="group" aria-label="Heads, layer by layer" data-heads="{geometry.heads}" '
        f'style="aspect-ratio:{geometry.width}/{geometry.height}">'
        f'<img alt="" src="{data_uri(attention_sheet(attention))}">{cells}</div></div>'
        f'<p class="quiet">{_count(roles)}</p>'
    )


def _numbers(geometry: SheetGeometry) -> str:
    """The numbers of the heads above the columns and of the layers beside the rows, in the middle of each."""
    across = "".join(
        f'<span style="left:{100 * (geometry.box(0, head)[0] + geometry.cell_width / 2) / geometry.width:.3f}%">'
        f"{head + 1}</span>"
        for head in range(geometry.heads)
    )
    down = "".join(
        f'<span style="top:{100 * (geometry.box(layer, 0)[1] + geometry.cell_height / 2) / geometry.height:.3f}%">'
        f"{layer + 1}</span>"
        for layer in range(geometry.layers)
    )
    return (
        f'<div class="sheet-heads" aria-hidden="true">{across}</div>'
        f'<div class="sheet-layers" aria-hidden="true">{down}</div>'
    )


def _cell(geometry: SheetGeometry, role: HeadRole) -> str:
    left, top, right, bottom = geometry.box(role.layer, role.head)
    name = f"Layer {role.layer + 1}, head {role.head + 1}: {role.role}, {percent(role.share)}"
    across, down = 100 / geometry.width, 100 / geometry.height
    return (
        f'<button type="button" class="cell" data-layer="{role.layer}" data-head="{role.head}" tabindex="-1" '
        f'aria-pressed="false" aria-label="{name}" title="{name}" style="left:{left * across:.3f}%;'
        f'top:{top * down:.3f}%;width:{(right - left) * across:.3f}%;height:{(bottom - top) * down:.3f}%"></button>'
    )


def _count(roles: tuple[HeadRole, ...]) -> str:
    """How many heads have which role, the most frequent first."""
    counts = Counter(role.role for role in roles)
    told = [
        f"{number} {'look' if number > 1 else 'looks'} mostly at the {role}"
        for role, number in counts.most_common()
        if role not in (BROAD, NONE)
    ]
    if counts[BROAD]:
        told.append(f"{counts[BROAD]} {'look' if counts[BROAD] > 1 else 'looks'} broadly")
    if counts[NONE]:
        told.append(f"{counts[NONE]} {'have' if counts[NONE] > 1 else 'has'} no pattern with a simple name")
    return f"Of {len(roles)} heads, {', '.join(told)}."


_HELP_HEAD_AGREEMENT = (
    "Mostly: the word gets the greatest share of the head’s weight, and at least a third of it. Numbers are "
    "layer.head. Each strip is the text from its first word to its last; darker is more weight."
)


def head_agreement(attention: Attention, word: tuple[int, ...]) -> str:
    """The heads of `attention` by what the query `word` (places of its tokens) looks at in them, as HTML."""
    _, rows = word_rows(attention, word)
    groups = head_groups(attention, word)
    count = attention.layers * attention.heads
    # What idle heads rest on, and what looks at no word in particular, says the least and has the most heads.
    telling = [group for group in groups if group.word and not _rests(attention.key_tokens, group)]
    others = [group for group in groups if group not in telling]
    drawn = [
        "".join(
            f"<section><h4>{_finding(attention, group, count)}</h4>"
            f'<div class="head-chips">{_chips(group, rows)}</div></section>'
            for group in some
        )
        for some in (telling, others)
    ]
    rest = f"<details><summary>The other {_heads(others)}</summary>{drawn[1]}</details>" if others else ""
    return (
        f'<div class="agreement"><h3>Heads that look at the same word from “{_name(attention.query_tokens, word)}”</h3>'
        f'{drawn[0]}{rest}<p class="quiet">{_HELP_HEAD_AGREEMENT}</p></div>'
    )


def _finding(attention: Attention, group: HeadGroup, count: int) -> str:
    look = "looks" if len(group.heads) == 1 else "look"
    if not group.word:
        return f"{len(group.heads)} of {count} heads {look} mostly at no single word"
    return f"{len(group.heads)} of {count} heads {look} mostly at “{_name(attention.key_tokens, group.word)}”"


def _chips(group: HeadGroup, rows: NDArray[np.float32]) -> str:
    return "".join(
        f'<button type="button" data-layer="{layer}" data-head="{head}" '
        f'aria-label="Layer {layer + 1}, head {head + 1}: {percent(share)}" title="{percent(share)}">'
        f'{layer + 1}.{head + 1}<img alt="" src="{data_uri(strip(rows[layer, head]))}"></button>'
        for layer, head, share in group.heads
    )


def _heads(groups: Sequence[HeadGroup]) -> str:
    number = sum(len(group.heads) for group in groups)
    return f"{number} heads" if number != 1 else "head"


def _rests(keys: Sequence[Token], group: HeadGroup) -> bool:
    return all(is_resting_place(keys[place]) for place in group.word)


def _name(tokens: Sequence[Token], word: Sequence[int]) -> str:
    text = word_text(tokens, word) if len(word) > 1 else named(tokens[word[0]])
    return f"<bdi>{html.escape(text)}</bdi>"
