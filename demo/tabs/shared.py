"""A link to a shared run: it opens in the tab of its task, or a message says why not."""

import html
from collections.abc import Mapping
from typing import Any

import gradio as gr

from demo.events import QUICK, for_visitors
from demo.language import _
from demo.reader.link import KEY, link_of
from demo.runs import DemoService
from demo.tabs.task_tab import TaskTab
from demo.widgets import Updates
from models.errors import InputError
from models.registry import Task

_ADDRESS = f"() => new URLSearchParams(location.search).has('{KEY}') ? location.search + location.hash : ''"
"""JavaScript for the query and fragment of a shared run's address; servers do not see the fragment."""


def create_shared_notice() -> gr.HTML:
    """The place of the message on a shared run, above the tabs; it takes no space on a page opened without a link."""
    return gr.HTML("", visible=False, elem_classes="shared-notice", padding=False, label=_("Shared run"))


def open_shared_runs(
    service: DemoService, demo: gr.Blocks, tabs: gr.Tabs, task_tabs: Mapping[Task, TaskTab], notice: gr.HTML
) -> None:
    """Make a page that is opened at a link show its run; no model answers again for it."""
    address = gr.Textbox("", visible="hidden", label="Link")

    def open_run(address: str) -> Updates:
        link = link_of(address)
        try:
            run = service.log.shared(link.key)
        except InputError as error:
            return {notice: _told(_(error.sentence), "alert")}
        said = _(
            "You see a run that was shared with you, made on {made:%d %b %Y, %H:%M} UTC. What you run from here is "
            "your own.",
            made=run.created_utc,
        )
        restored = task_tabs[run.task].restore(run, link.place)
        return {notice: _told(said, "status"), tabs: gr.update(selected=task_tabs[run.task].opens), **restored}

    demo.load(None, None, address, js=_ADDRESS)
    changed = [notice, tabs, *(each for tab in task_tabs.values() for each in tab.restored_outputs)]
    opened = address.change(for_visitors(open_run), address, changed, **QUICK)
    # One after another: all tabs at once would exceed the runs that one visitor may have at a time.
    for tab in task_tabs.values():
        opened = tab.follow(opened)


def _told(sentence: str, role: str) -> dict[str, Any]:
    return gr.update(value=f'<p role="{role}">{html.escape(sentence)}</p>', visible=True)
