"""A second form in a tab: folded away under its columns, with the tab's reader."""

from collections.abc import Iterator
from contextlib import contextmanager

import gradio as gr
from gradio.components import Component

from demo.language import _
from demo.runs import DemoService, Finished
from demo.tabs.task_tab import TaskTab, two_columns
from demo.widgets import Updates
from demo.widgets.notice import held
from demo.widgets.runs import TASK_TITLES
from demo.writing.steps import DrawAnswer
from models.registry import Task


class SecondForm(TaskTab):
    """A form that shares the model and the reader of the tab `first`, with a header and an answer of its own.

    `kept` is the run that a copied link leads to, whatever the reader shows.
    """

    def __init__(
        self, service: DemoService, session: gr.BrowserState, first: TaskTab, task: Task, draw: DrawAnswer
    ) -> None:
        super().__init__(service, session, task, draw)
        self.tab, self.picker, self.reader = first.tab, first.picker, first.reader
        self.opens = first.opens

    @contextmanager
    def page(self, title: str = "") -> Iterator[None]:
        """Holds the two columns, in a fold with this title, or with that of the task."""
        title = title or _(TASK_TITLES[self.task])
        with self.tab, gr.Accordion(title, open=False, elem_classes="tool") as self.fold, two_columns():
            self.kept = held(Finished(self.example.run, self.example.output, self.example.source))
            yield

    @property
    def linked(self) -> Component:
        """See `TaskTab`."""
        return self.kept

    @property
    def outputs(self) -> list[Component]:
        """See `TaskTab`."""
        return [*super().outputs, self.kept, self.fold]

    def show(self, finished: Finished) -> Updates:
        """See `TaskTab`; the fold opens."""
        updates = super().show(finished)
        return {**updates, self.kept: updates[self.reader.finished], self.fold: gr.update(open=True)}
