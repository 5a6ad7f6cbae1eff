"""A link to a shared run: opened in the tab of its task, or said to lead nowhere."""

import html
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import gradio as gr

from demo.events import QUICK, for_visitors
from demo.runs import DemoService
from demo.sharing import KEY, link_of
from demo.tabs.task_tab import TaskTab
from demo.widgets import Updates
from models.errors import InputError

_ADDRESS = f"() => new URLSearchParams(location.search).has('{KEY}') ? location.search + location.hash : ''"
"""Run in the page: what its address says about a shared run, which the server would not see whole."""


@dataclass(frozen=True, eq=False)
class SharedRuns:
    """The sentence on the run that the page's address leads to, and that address."""

    notice: gr.HTML
    address: gr.Textbox

    def connect(self, service: DemoService, demo: gr.Blocks, tabs: gr.Tabs, task_tabs: Iterable[TaskTab]) -> None:
        """Let a page that is opened at a link show its run; no model answers anew for it."""
        by_task = {tab.task: tab for tab in task_tabs}

        def open_run(address: str) -> Updates:
            link = link_of(address)
            try:
                run = service.sharing.open(link.key)
            except InputError as error:
                return {self.notice: _told(error.sentence, "alert")}
            made = f"{run.created_utc:%d %b %Y, %H:%M} UTC"
            said = f"You see a run that was shared with you, made on {made}. What you run from here is your own."
            return {
                self.notice: _told(said, "status"),
                tabs: gr.Tabs(selected=run.task.value),
                **by_task[run.task].restore(run, link.place),
            }

        demo.load(None, None, self.address, js=_ADDRESS)
        changed = [self.notice, tabs, *(each for tab in by_task.values() for each in tab.restored_outputs)]
        opened = self.address.change(for_visitors(open_run), self.address, changed, **QUICK)
        for tab in by_task.values():
            tab.reader.follow(opened)


def create_shared_runs() -> SharedRuns:
    """The place of the sentence, above the tabs; it takes no room on a page that no link led to."""
    notice = gr.HTML("", visible=False, elem_classes="shared-notice", padding=False, label="Shared run")
    return SharedRuns(notice, gr.Textbox("", visible="hidden", label="Link"))


def _told(sentence: str, role: str) -> dict[str, Any]:
    return gr.update(value=f'<p role="{role}">{html.escape(sentence)}</p>', visible=True)
