"""History: the runs of this browser's session, to reopen, delete and take home."""

from collections.abc import Iterable
from typing import Any

import gradio as gr

from demo.components import Updates
from demo.components.kept_note import KeptNote
from demo.components.run_list import CHOOSE_RUN, run_list
from demo.components.saved_file import TextFile, create_saved_file, csv_file, json_file
from demo.messages import for_visitors
from demo.service import DemoService
from demo.sessions.keeping import keeps, owner, with_wish
from demo.tabs.task_tab import TaskTab, lead

_LEAD = "What this browser has run, newest first. Opening a run brings back its text, answer and settings."
FORGOTTEN = "This host forgets all runs when it restarts, which may happen on any day: download what you want to keep."
"""Said where the log does not outlive the process: on the disk of a Space."""

UNKEPT = "Do not keep my runs"
"""The switch that turns keeping off."""

_HIDDEN: dict[str, Any] = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}


def create_history_tab(
    service: DemoService, session: gr.BrowserState, tabs: gr.Tabs, task_tabs: Iterable[TaskTab], note: KeptNote
) -> None:
    """The tab with its events; opening a run selects the tab of its task in `tabs`, `note` follows what is kept."""
    by_task = {tab.task: tab for tab in task_tabs}
    with gr.Tab("History", id="history", elem_id="tab-history", alignment="right") as tab:
        lead(_LEAD)
        if service.settings.forgets_at_restart:
            lead(FORGOTTEN)
        unkept = gr.Checkbox(
            False,
            label=UNKEPT,
            info="From now on, in this browser. What is listed here stays until you delete it.",
        )
        with gr.Row(elem_classes="history-actions"):
            as_csv = gr.Button("Download CSV", min_width=150, scale=0)
            as_json = gr.Button("Download JSON", min_width=150, scale=0)
            delete_all = gr.Button("Delete all", min_width=150, scale=0)
        with gr.Row(visible=False, elem_classes="history-actions") as question:
            gr.HTML("<p>Delete every run of this browser? They cannot be brought back.</p>")
            confirm = gr.Button("Yes, delete all", variant="stop", min_width=150, scale=0)
            keep = gr.Button("Keep them", min_width=150, scale=0)
        runs = gr.HTML(
            run_list((), service.history_is_kept), js_on_load=CHOOSE_RUN, elem_classes="run-list", label="Runs"
        )
        file = create_saved_file()

    def refresh(session_id: str) -> str:
        return run_list(service.history(session_id) if session_id else (), service.history_is_kept)

    def look(session_id: str) -> Updates:
        return {
            runs: refresh(session_id),
            unkept: not keeps(session_id),
            note.line: note.says(session_id),
        }

    def wish(session_id: str, nothing: bool) -> Updates:
        session_id = with_wish(session_id or service.new_session(), not nothing)
        return {session: session_id, note.line: note.says(session_id)}

    def reopen(session_id: str, event: gr.EventData) -> Updates:
        run = service.get(str(event.run_id))
        if owner(run.session_id) != owner(session_id):
            return {runs: refresh(session_id)}
        return {tabs: gr.Tabs(selected=run.task.value), **by_task[run.task].reopen(run)}

    def delete(session_id: str, event: gr.EventData) -> str:
        service.delete(str(event.run_id), session_id)
        return refresh(session_id)

    def forget(session_id: str) -> Updates:
        service.delete_all(session_id)
        return {runs: refresh(session_id), question: gr.update(visible=False)}

    def export_csv(session_id: str) -> TextFile:
        return csv_file(service.export_csv(session_id), "clearhead-runs")

    def export_json(session_id: str) -> TextFile:
        return json_file(service.export_json(session_id), "clearhead-runs")

    tab.select(for_visitors(look), session, [runs, unkept, note.line], **_HIDDEN)
    unkept.input(for_visitors(wish), [session, unkept], [session, note.line], **_HIDDEN)
    reopened = [runs, tabs, *(each for task_tab in by_task.values() for each in task_tab.reopened_outputs)]
    opened = runs.select(for_visitors(reopen), session, reopened, **_HIDDEN)
    for task_tab in by_task.values():
        task_tab.reader.follow(opened)
    runs.delete(for_visitors(delete), session, runs, **_HIDDEN)
    delete_all.click(lambda: gr.update(visible=True), None, question, **_HIDDEN)
    keep.click(lambda: gr.update(visible=False), None, question, **_HIDDEN)
    confirm.click(for_visitors(forget), session, [runs, question], **_HIDDEN)
    file.connect(as_csv, export_csv, [session])
    file.connect(as_json, export_json, [session])
