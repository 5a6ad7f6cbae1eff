"""A sheet with a thumbnail of every head, and groups of the heads that look at the same word."""

import html
from collections import Counter
from collections.abc import Sequence

import gradio as gr
import numpy as np

from demo.language import N_, _, ngettext
from demo.plots.reading import named, percent
from demo.plots.sheet import SheetGeometry, attention_sheet, data_uri, ink_image, sheet_geometry
from demo.plots.view import is_resting_place
from demo.theme import script
from models.explain import head_roles as roles
from models.explain.head_roles import HeadGroup, head_groups
from models.outputs.attention import Attention, HeadRole
from models.outputs.base import Token
from models.text.words import word_rows, word_text

_HELP = N_(
    "One small picture for each head: a row for each layer, a column for each head. Choose one to open it above; with "
    "the keyboard, move by arrow keys."
)
_ABOUT_GROUPS = N_(
    "Mostly: the word gets the greatest share of the head’s weight, and at least a third of it. Numbers are "
    "layer.head. Each strip is the text from its first word to its last; darker is more weight."
)


def create_head_sheet() -> tuple[gr.Accordion, gr.HTML, gr.HTML]:
    """Create a folded section and, still empty in it, the groups of heads for the chosen word and the sheet."""
    with gr.Accordion(_("All heads at once"), open=False, elem_classes="tool heads-tool") as section:
        choose = script("head_sheet.js")
        agreement = gr.HTML("", js_on_load=choose, elem_classes="agreement-box", label=_("Heads that agree"))
        gr.HTML(f'<p class="quiet">{_(_HELP)}</p>')
        picture = gr.HTML("", js_on_load=choose, elem_classes="sheet-box", label=_("All heads"))
    return section, agreement, picture


def sheet(attention: Attention) -> str:
    """The sheet: a button over each thumbnail, layers and heads numbered from 1, and the number of heads per role."""
    geometry, found = sheet_geometry(attention), roles.head_roles(attention)
    # Numbers stand above the columns and beside the rows, in the middle of each.
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
        f'<div class="numbered-sheet" style="max-width:{max(geometry.width, 760)}px">'
        f'<span class="sheet-corner" aria-hidden="true">{_("layer&nbsp;↓ head&nbsp;→")}</span>'
        f'<div class="sheet-heads" aria-hidden="true">{across}</div>'
        f'<div class="sheet-layers" aria-hidden="true">{down}</div>'
        f'<div class="sheet" role="group" aria-label="{_("Heads, layer by layer")}" data-heads="{geometry.heads}" '
        f'style="aspect-ratio:{geometry.width}/{geometry.height}">'
        f'<img alt="" src="{data_uri(attention_sheet(attention))}">'
        f"{''.join(_cell(geometry, role) for role in found)}</div></div>"
        f'<p class="quiet">{_count(found)}</p>'
    )


def _cell(geometry: SheetGeometry, role: HeadRole) -> str:
    left, top, right, bottom = geometry.box(role.layer, role.head)
    name = _(
        "Layer {layer}, head {head}: {role}, {share}",
        layer=role.layer + 1,
        head=role.head + 1,
        role=_(role.role),
        share=percent(role.share),
    )
    across, down = 100 / geometry.width, 100 / geometry.height
    return (
        f'<button type="button" class="cell" data-layer="{role.layer}" data-head="{role.head}" tabindex="-1" '
        f'aria-pressed="false" aria-label="{name}" title="{name}" style="left:{left * across:.3f}%;'
        f'top:{top * down:.3f}%;width:{(right - left) * across:.3f}%;height:{(bottom - top) * down:.3f}%"></button>'
    )


def _count(found: tuple[HeadRole, ...]) -> str:
    """A sentence on how many heads have each role, the most frequent first and heads without a clear one last."""
    counts = Counter(role.role for role in found)
    last = {role: counts.pop(role) for role in (roles.BROAD, roles.NONE) if role in counts}
    said = [_look(role, heads) for role, heads in (*counts.most_common(), *last.items())]
    return _("Of {heads} heads, {findings}.", heads=len(found), findings=", ".join(said))


def _look(role: str, heads: int) -> str:
    """The part of a sentence that says that `heads` heads have `role`."""
    match role:
        case roles.PREVIOUS:
            return ngettext(
                "{count} looks mostly at the previous token", "{count} look mostly at the previous token", heads
            )
        case roles.NEXT:
            return ngettext("{count} looks mostly at the next token", "{count} look mostly at the next token", heads)
        case roles.SAME:
            return ngettext("{count} looks mostly at the same token", "{count} look mostly at the same token", heads)
        case roles.FIRST:
            return ngettext("{count} looks mostly at the first token", "{count} look mostly at the first token", heads)
        case roles.SEPARATOR:
            return ngettext("{count} looks mostly at the separator", "{count} look mostly at the separator", heads)
        case roles.PUNCTUATION:
            return ngettext("{count} looks mostly at the punctuation", "{count} look mostly at the punctuation", heads)
        case roles.ELSEWHERE:
            return ngettext(
                "{count} looks mostly at the same word elsewhere",
                "{count} look mostly at the same word elsewhere",
                heads,
            )
        case roles.BROAD:
            return ngettext("{count} looks broadly", "{count} look broadly", heads)
    return ngettext("{count} has no pattern with a simple name", "{count} have no pattern with a simple name", heads)


def head_agreement(attention: Attention, word: tuple[int, ...]) -> str:
    """The heads of `attention` as HTML, grouped by the word that the query `word` (indices of its tokens) looks at."""
    _keys, rows = word_rows(attention, word)

    def drawn(group: HeadGroup) -> str:
        chips = "".join(
            f'<button type="button" data-layer="{layer}" data-head="{head}" '
            f'aria-label="{_of_head(layer, head, share)}" title="{percent(share)}">'
            f'{layer + 1}.{head + 1}<img alt="" src="{ink_image(rows[layer, head][np.newaxis])}"></button>'
            for layer, head, share in group.heads
        )
        heads = attention.layers * attention.heads
        if group.word:
            finding = ngettext(
                "{count} of {heads} heads looks mostly at “{word}”",
                "{count} of {heads} heads look mostly at “{word}”",
                len(group.heads),
                heads=heads,
                word=_name(attention.key_tokens, group.word),
            )
        else:
            finding = ngettext(
                "{count} of {heads} heads looks mostly at no single word",
                "{count} of {heads} heads look mostly at no single word",
                len(group.heads),
                heads=heads,
            )
        return f'<section><h4>{finding}</h4><div class="head-chips">{chips}</div></section>'

    # Heads that rest on marks or full stops, or look at no single word, say the least and are the most: fold them.
    telling, others, left = "", "", 0
    for group in head_groups(attention, word):
        if any(not is_resting_place(attention.key_tokens[place]) for place in group.word):
            telling += drawn(group)
        else:
            others += drawn(group)
            left += len(group.heads)
    summary = ngettext("The other head", "The other {count} heads", left)
    rest = f"<details><summary>{summary}</summary>{others}</details>" if others else ""
    heading = _("Heads that look at the same word from “{word}”", word=_name(attention.query_tokens, word))
    return f'<div class="agreement"><h3>{heading}</h3>{telling}{rest}<p class="quiet">{_(_ABOUT_GROUPS)}</p></div>'


def _of_head(layer: int, head: int, share: float) -> str:
    return _("Layer {layer}, head {head}: {share}", layer=layer + 1, head=head + 1, share=percent(share))


def _name(tokens: Sequence[Token], word: Sequence[int]) -> str:
    text = word_text(tokens, word) if len(word) > 1 else named(tokens[word[0]])
    return f"<bdi>{html.escape(text)}</bdi>"
