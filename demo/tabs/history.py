"""History: the runs of this browser's session, to reopen, delete and take home."""

from collections.abc import Iterable

import gradio as gr

from demo.events import QUICK, for_visitors
from demo.log.run import Run, keeps, owner, with_wish
from demo.runs import RUNS_OF_A_PAGE, DemoService
from demo.tabs.task_tab import TaskTab, lead
from demo.widgets import Updates
from demo.widgets.kept_note import KeptNote
from demo.widgets.runs import CHOOSE_RUN, run_list
from demo.widgets.saved import TextFile, create_saved_file, csv_file, json_file

_LEAD = "What this browser has run, newest first. Opening a run brings back its text, answer and settings."
FORGOTTEN = "This host forgets all runs when it restarts, which may happen on any day: download what you want to keep."
"""Said where the log does not outlive the process: on the disk of a Space."""

UNKEPT = "Do not keep my runs"
"""The switch that turns keeping off."""


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
        # How many of the newest runs come before the page that is shown.
        skipped = gr.State(0)
        with gr.Row(elem_classes="history-actions"):
            newer = gr.Button("Newer runs", min_width=150, scale=0, visible=False)
            older = gr.Button("Older runs", min_width=150, scale=0, visible=False)
        file = create_saved_file()
    page = [runs, skipped, newer, older]

    def show(session_id: str, skip: int = 0) -> Updates:
        """The page after the newest `skip` runs; the one before where that is empty, after a deletion."""
        found: tuple[Run, ...] = ()
        while session_id and not (found := service.history(session_id, RUNS_OF_A_PAGE + 1, skip)) and skip:
            skip = max(0, skip - RUNS_OF_A_PAGE)
        return {
            runs: run_list(found[:RUNS_OF_A_PAGE], service.history_is_kept, service.sharing.of(session_id)),
            skipped: skip,
            newer: gr.update(visible=skip > 0),
            older: gr.update(visible=len(found) > RUNS_OF_A_PAGE),
        }

    def show_newer(session_id: str, skip: int) -> Updates:
        return show(session_id, max(0, skip - RUNS_OF_A_PAGE))

    def show_older(session_id: str, skip: int) -> Updates:
        return show(session_id, skip + RUNS_OF_A_PAGE)

    def look(session_id: str) -> Updates:
        return {**show(session_id), unkept: not keeps(session_id), note.line: note.says(session_id)}

    def wish(session_id: str, nothing: bool) -> Updates:
        session_id = with_wish(session_id or service.new_session(), not nothing)
        if nothing:
            service.forget(session_id)
        return {session: session_id, note.line: note.says(session_id)}

    def reopen(session_id: str, skip: int, event: gr.EventData) -> Updates:
        run = service.get(str(event.run_id))
        if owner(run.session_id) != owner(session_id):
            return show(session_id, skip)
        return {tabs: gr.Tabs(selected=run.task.value), **by_task[run.task].reopen(run)}

    def delete(session_id: str, skip: int, event: gr.EventData) -> Updates:
        service.delete(str(event.run_id), session_id)
        return show(session_id, skip)

    def unshare(session_id: str, skip: int, event: gr.EventData) -> Updates:
        service.sharing.unshare(str(event.run_id), session_id)
        return show(session_id, skip)

    def forget(session_id: str) -> Updates:
        service.delete_all(session_id)
        return {**show(session_id), question: gr.update(visible=False)}

    def export_csv(session_id: str) -> TextFile:
        return csv_file(service.export_csv(session_id), "clearhead-runs")

    def export_json(session_id: str) -> TextFile:
        return json_file(service.export_json(session_id), "clearhead-runs")

    tab.select(for_visitors(look), session, [*page, unkept, note.line], **QUICK)
    newer.click(for_visitors(show_newer), [session, skipped], page, **QUICK)
    older.click(for_visitors(show_older), [session, skipped], page, **QUICK)
    unkept.input(for_visitors(wish), [session, unkept], [session, note.line], **QUICK)
    reopened = [*page, tabs, *(each for task_tab in by_task.values() for each in task_tab.reopened_outputs)]
    opened = runs.select(for_visitors(reopen), [session, skipped], reopened, **QUICK)
    for task_tab in by_task.values():
        task_tab.reader.follow(opened)
    runs.delete(for_visitors(delete), [session, skipped], page, **QUICK)
    runs.clear(for_visitors(unshare), [session, skipped], page, **QUICK)
    delete_all.click(lambda: gr.update(visible=True), None, question, **QUICK)
    keep.click(lambda: gr.update(visible=False), None, question, **QUICK)
    confirm.click(for_visitors(forget), session, [*page, question], **QUICK)
    file.connect(as_csv, export_csv, [session])
    file.connect(as_json, export_json, [session])
