"""The tools folded below the attention reader: all heads, attribution, what if, and what a visitor takes away."""

from collections.abc import Sequence
from dataclasses import dataclass

import gradio as gr
from gradio.components import Component

from demo.looks import AttentionSource
from demo.plots.view import AttentionView
from demo.reader.attribution import AttributionPanel, See, create_attribution_panel
from demo.reader.controls import ReaderControls
from demo.reader.export import TakeAway, create_take_away
from demo.reader.heads import HeadSheet, create_head_sheet
from demo.reader.what_if import TryIt, create_try_it
from demo.runs import DemoService, Finished
from demo.widgets import Updates
from models.errors import InputError
from models.explain.opening import opening
from models.outputs import Token


@dataclass(frozen=True, eq=False)
class ReaderTools:
    """The tools; not every task has a second opinion."""

    sheet: HeadSheet
    attribution: AttributionPanel | None
    try_it: TryIt
    take_away: TakeAway

    @property
    def outputs(self) -> list[Component]:
        """The components that belong to one source and are cleared for another, the sheet apart."""
        second = [self.attribution.result] if self.attribution else []
        return [*self.try_it.outputs, *self.take_away.outputs, *second]

    def forget(self, service: DemoService, finished: Finished) -> Updates:
        """The updates that take away what was found out about another run, and offer the words of this one."""
        cleared: Updates = dict.fromkeys(self.take_away.outputs, "")
        if self.attribution:
            cleared[self.attribution.result] = ""
        try:
            first, *_ = service.attention(finished.source).values()
        except InputError:
            return cleared | self.try_it.offer(())
        read = _read(first.kind, first.key_tokens, finished.source)
        return cleared | self.try_it.offer(read, opening(finished.output, first).key)

    def connect(self, service: DemoService, finished: gr.State, controls: ReaderControls, see: See) -> None:
        """Let the tools work on the run and the attention that `controls` choose and `see` finds."""
        self.try_it.connect(service, finished, controls.place)
        if self.attribution:
            self.attribution.connect(service, finished, [*controls.place, controls.words], see)


def create_reader_tools(source: AttentionSource, view: AttentionView) -> ReaderTools:
    """The tools for what a reader opens on."""
    return ReaderTools(
        create_head_sheet(),
        create_attribution_panel(source.task),
        create_try_it(source.task, _read(view.kind, view.key_tokens, source), view.key),
        create_take_away(),
    )


def _read(kind: str, keys: Sequence[Token], source: AttentionSource) -> Sequence[Token]:
    """Of the keys of the attention that is shown first, the tokens that the model was given and did not write."""
    return keys[: len(keys) - len(source.written)] if kind == "decoder" else keys
