"""All heads at once: the sheet as a picture whose thumbnails are buttons that open a head."""

import html
from collections import Counter
from dataclasses import dataclass

import gradio as gr
from gradio.components import Component

from demo.attention import AttentionSource
from demo.components import Updates
from demo.messages import for_visitors
from demo.page import ASSETS
from demo.plots.reading import percent
from demo.plots.sheet import SheetGeometry, attention_sheet, data_uri, sheet_geometry
from demo.service import DemoService
from demo.settings import MODEL_QUEUE
from models.errors import InputError
from models.findings import HeadRole
from models.head_roles import BROAD, NONE, head_roles
from models.outputs import Attention

_HELP = (
    '<p class="quiet">One small picture for each head: a row for each layer, the first on top, a column for each head. '
    "Choose one to open it above; with the keyboard, move by arrow keys.</p>"
)


@dataclass(frozen=True, eq=False)
class HeadSheet:
    """The section, whether it is unfolded, and the picture in it."""

    section: gr.Accordion
    unfolded: gr.State
    picture: gr.HTML

    def connect(self, service: DemoService, source: gr.State, kind: Component) -> None:
        """Let the section draw the sheet when it is unfolded."""

        def unfold(source: AttentionSource, kind: str) -> Updates:
            return {self.unfolded: True, self.picture: sheet_of(service, source, kind)}

        self.section.expand(
            for_visitors(unfold),
            [source, kind],
            [self.unfolded, self.picture],
            show_progress_on=self.picture,
            concurrency_id=MODEL_QUEUE,
            concurrency_limit=service.settings.concurrency,
            api_visibility="private",
        )
        self.section.collapse(
            lambda: False, None, self.unfolded, queue=False, show_progress="hidden", api_visibility="private"
        )


def create_head_sheet() -> HeadSheet:
    """A folded section; nothing is drawn before it is unfolded."""
    unfolded = gr.State(False)
    with gr.Accordion("All heads at once", open=False, elem_classes="tool") as section:
        gr.HTML(_HELP)
        script = (ASSETS / "scripts" / "head_sheet.js").read_text(encoding="utf-8")
        picture = gr.HTML("", js_on_load=script, elem_classes="sheet-box", label="All heads")
    return HeadSheet(section, unfolded, picture)


def sheet_of(service: DemoService, source: AttentionSource, kind: str) -> str:
    """The sheet of one kind of attention, or a sentence when it cannot be had."""
    try:
        attentions = service.attention(source)
    except InputError as error:
        return f'<p role="alert">{html.escape(error.sentence)}</p>'
    return sheet(attentions[kind if kind in attentions else next(iter(attentions))])


def sheet(attention: Attention) -> str:
    """The picture with a button over each thumbnail, and how many heads do what."""
    geometry, roles = sheet_geometry(attention), head_roles(attention)
    cells = "".join(_cell(geometry, role) for role in roles)
    return (
        f'<div class="sheet" role="group" aria-label="Heads, layer by layer" data-heads="{geometry.heads}" '
        f'style="aspect-ratio:{geometry.width}/{geometry.height};max-width:{max(geometry.width, 760)}px">'
        f'<img alt="" src="{data_uri(attention_sheet(attention))}">{cells}</div>'
        f'<p class="quiet">{_count(roles)}</p>'
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
