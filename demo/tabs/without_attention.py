"""A tab or a form whose answer has no attention to look at, and so no reader."""

import gradio as gr
from gradio.blocks import Block
from gradio.components import Component
from gradio.events import Dependency

from demo.log.run import Run
from demo.runs import Finished
from demo.sharing import ReaderSettings
from demo.tabs.task_tab import TaskTab
from demo.widgets import Updates
from demo.widgets.notice import held
from demo.widgets.runs import run_header


class WithoutAttention(TaskTab):
    """The answer and its header are all that a run changes; `kept` is the run that a copied link leads to."""

    kept: gr.State

    def create_header(self) -> None:
        """See `TaskTab`."""
        super().create_header()
        self.kept = held(Finished(self.example.run, self.example.output, self.example.source))

    @property
    def linked(self) -> Component:
        """See `TaskTab`."""
        return self.kept

    @property
    def place(self) -> list[Component]:
        """See `TaskTab`."""
        return []

    @property
    def outputs(self) -> list[Component]:
        """See `TaskTab`."""
        return [self.answer, *self.below, self._header, self.kept, *self.notices.values(), self.notice, self.picker]

    @property
    def restored_outputs(self) -> list[Block]:
        """See `TaskTab`."""
        return self.reopened_outputs

    def follow(self, event: Dependency) -> None:
        """See `TaskTab`; there is no reader to follow."""

    def show(self, finished: Finished) -> Updates:
        """See `TaskTab`."""
        return {
            self.answer: self.draw(finished.run, finished.output, 0),
            **{component: draw(finished.output) for component, draw in self.below.items()},
            self._header: run_header(finished.run, finished.output, kept=self.service.is_kept(finished.run)),
            self.kept: finished,
            **self.clear(),
        }

    def reopen(self, run: Run) -> Updates:
        """See `TaskTab`; the choice of a model stays where another one answered."""
        updates = super().reopen(run)
        if run.checkpoint not in [name for _, name in self.picker.choices or ()]:
            updates.pop(self.picker, None)
        return updates

    def restore(self, run: Run, place: ReaderSettings) -> Updates:
        """See `TaskTab`; there is no reader to turn to a place."""
        return self.reopen(run)
