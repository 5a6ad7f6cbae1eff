"""A section that draws greedy search, beam search and sampling from the tab's own beginning as one tree."""

from collections.abc import Mapping
from dataclasses import dataclass

import gradio as gr
from gradio.components import Component

from demo.components import Updates
from demo.components.figure import drawn
from demo.components.notice import create_notice, noticed
from demo.components.tree_text import tree_table, tree_text
from demo.messages import for_visitors
from demo.plots.decode_tree import decode_tree_figure
from demo.service import DemoService
from demo.settings import MODEL_QUEUE
from models.errors import InputError

_LEAD = """<p class="quiet">Three ways to choose, from the beginning above: <em>greedy search</em> takes the likeliest
token each time, <em>beam search</em> keeps several drafts and drops the worst, <em>sampling</em> throws dice with the
settings above.</p>"""


_FIELDS = ("prompt", "temperature", "top_k", "top_p", "seed", "loop_guard")
_PROGRESS = gr.Progress()


@dataclass(frozen=True, eq=False)
class StrategyTree:
    """The settings, the button and the picture."""

    service: DemoService
    beams: gr.Slider
    steps: gr.Slider
    draw: gr.Button
    notice: gr.HTML
    text: gr.HTML
    plot: gr.Plot
    table: gr.HTML

    def connect(self, checkpoint: Component, fields: Mapping[str, Component]) -> None:
        """Draw with the `checkpoint` that is chosen and the tab's `fields`."""

        def grow(
            checkpoint: str,
            num_beams: int,
            steps: int,
            prompt: str,
            temperature: float,
            top_k: int,
            top_p: float,
            seed: int,
            loop_guard: int,
            progress: gr.Progress = _PROGRESS,
        ) -> Updates:
            asked = {
                "prompt": prompt,
                "max_new_tokens": steps,
                "num_beams": num_beams,
                "temperature": temperature,
                "top_k": top_k,
                "top_p": top_p,
                "seed": seed,
                "loop_guard": loop_guard,
            }

            def tell(fraction: float, message: str) -> None:
                progress(fraction, desc=message)

            try:
                tree = self.service.decode_tree(asked, checkpoint, tell)
            except InputError as error:
                return {self.notice: noticed(error.sentence)}
            return {
                self.notice: noticed(""),
                self.text: gr.update(value=tree_text(tree), visible=True),
                self.plot: gr.update(value=drawn(decode_tree_figure(tree), zoom=True), visible=True),
                self.table: gr.update(value=tree_table(tree), visible=True),
            }

        self.draw.click(
            for_visitors(grow),
            [checkpoint, self.beams, self.steps, *(fields[name] for name in _FIELDS)],
            [self.notice, self.text, self.plot, self.table],
            concurrency_id=MODEL_QUEUE,
            concurrency_limit=self.service.settings.concurrency,
            show_progress_on=self.draw,
            api_visibility="private",
        )


def create_strategy_tree(service: DemoService) -> StrategyTree:
    """The folded section; nothing is drawn before a visitor asks."""
    with gr.Accordion("Three strategies in one picture", open=False, elem_classes="tool"):
        gr.HTML(_LEAD)
        with gr.Row(elem_classes="settings"):
            beams = gr.Slider(1, 8, 4, step=1, label="Drafts that beam search keeps")
            steps = gr.Slider(1, 40, 12, step=1, label="Steps to draw")
        draw = gr.Button("Draw the tree", scale=0, min_width=160)
        notice = create_notice()
        text = gr.HTML("", visible=False, label="What the tree shows")
        plot = gr.Plot(
            visible=False, label="Tree of drafts", show_label=False, container=False, elem_classes="tree-frame"
        )
        table = gr.HTML("", visible=False, label="The tree as a table")
    return StrategyTree(service, beams, steps, draw, notice, text, plot, table)
