"""History: the runs of this browser's session, to reopen, delete and download."""

from collections.abc import Callable, Mapping
from typing import Any

import gradio as gr

from demo.events import QUICK, for_visitors
from demo.language import N_, _
from demo.log.run import Run, keeps, owner, with_wish
from demo.runs import RUNS_OF_A_PAGE, DemoService
from demo.tabs.columns import lead
from demo.tabs.task_tab import TaskTab
from demo.widgets import PRESSED, Updates
from demo.widgets.runs import kept_note, run_list
from demo.widgets.saved import SavedFile, csv_file, json_file
from models.registry import Task

_LEAD = N_("What this browser has run, newest first. Opening a run brings back its text, answer and settings.")
FORGOTTEN = N_(
    "This host forgets all runs when it restarts, which may happen on any day: download what you want to keep."
)
"""The notice on a host whose log does not outlive the process, on the disk of a Space."""

UNKEPT = N_("Do not keep my runs")
"""The label of the switch that turns keeping off."""


def create_history_tab(
    service: DemoService, session: gr.BrowserState, tabs: gr.Tabs, task_tabs: Mapping[Task, TaskTab], note: gr.HTML
) -> None:
    """The tab with its events; opening a run selects its task's tab in `tabs`, `note` says whether runs are kept."""
    size: dict[str, Any] = {"min_width": 150, "scale": 0}
    with gr.Tab(_("History"), id="history", elem_id="tab-history", alignment="right") as tab:
        lead(_(_LEAD))
        if service.settings.forgets_at_restart:
            lead(_(FORGOTTEN))
        unkept = gr.Checkbox(
            False,
            label=_(UNKEPT),
            info=_("From now on, in this browser. What is listed here stays until you delete it."),
        )
        with gr.Row(elem_classes="history-actions"):
            as_csv, as_json, delete_all = (
                gr.Button(name, **size) for name in (_("Download CSV"), _("Download JSON"), _("Delete all"))
            )
        with gr.Row(visible=False, elem_classes="history-actions") as question:
            asked = _("Delete every run of this browser? They cannot be brought back.")
            gr.HTML(f"<p>{asked}</p>")
            confirm = gr.Button(_("Yes, delete all"), variant="stop", **size)
            keep = gr.Button(_("Keep them"), **size)
        listed = run_list((), service.history_is_kept)
        runs = gr.HTML(listed, js_on_load=PRESSED, elem_classes="run-list", label=_("Runs"))
        # The number of runs that are newer than those of the page that is shown.
        skipped = gr.State(0)
        with gr.Row(elem_classes="history-actions"):
            newer, older = (gr.Button(name, visible=False, **size) for name in (_("Newer runs"), _("Older runs")))
        file = SavedFile()
    page = [runs, skipped, newer, older]

    def show(session_id: str, skip: int = 0) -> Updates:
        """The updates that list the page after the newest `skip` runs, or the one before if a deletion emptied it."""
        found: tuple[Run, ...] = ()
        while session_id and not (found := service.history(session_id, RUNS_OF_A_PAGE + 1, skip)) and skip:
            skip = max(0, skip - RUNS_OF_A_PAGE)
        return {
            runs: run_list(found[:RUNS_OF_A_PAGE], service.history_is_kept, service.log.shared_of(session_id)),
            skipped: skip,
            newer: gr.update(visible=skip > 0),
            older: gr.update(visible=len(found) > RUNS_OF_A_PAGE),
        }

    def look(session_id: str) -> Updates:
        return {**show(session_id), unkept: not keeps(session_id), note: kept_note(service, session_id)}

    def wish(session_id: str, nothing: bool) -> Updates:
        session_id = with_wish(session_id or service.new_session(), not nothing)
        if nothing:
            service.forget(session_id)
        return {session: session_id, note: kept_note(service, session_id)}

    def reopen(session_id: str, skip: int, event: gr.EventData) -> Updates:
        run = service.get(str(event.run))
        if owner(run.session_id) != owner(session_id):
            return show(session_id, skip)
        return {tabs: gr.update(selected=task_tabs[run.task].opens), **task_tabs[run.task].reopen(run)}

    def after(change: Callable[[str, str], object]) -> Callable[..., Updates]:
        def changed(session_id: str, skip: int, event: gr.EventData) -> Updates:
            change(str(event.run), session_id)
            return show(session_id, skip)

        return for_visitors(changed)

    def forget(session_id: str) -> Updates:
        service.delete_all(session_id)
        return {**show(session_id), question: gr.update(visible=False)}

    here = [session, skipped]
    tab.select(for_visitors(look), session, [*page, unkept, note], **QUICK)
    newer.click(for_visitors(lambda of, skip: show(of, max(0, skip - RUNS_OF_A_PAGE))), here, page, **QUICK)
    older.click(for_visitors(lambda of, skip: show(of, skip + RUNS_OF_A_PAGE)), here, page, **QUICK)
    unkept.input(for_visitors(wish), [session, unkept], [session, note], **QUICK)
    reopened = [*page, tabs, *(each for task_tab in task_tabs.values() for each in task_tab.reopened_outputs)]
    opened = runs.select(for_visitors(reopen), here, reopened, **QUICK)
    # One after another: all tabs at once would exceed the runs that one visitor may have at a time.
    for task_tab in task_tabs.values():
        opened = task_tab.follow(opened)
    runs.delete(after(service.delete), here, page, **QUICK)
    runs.clear(after(service.log.unshare), here, page, **QUICK)
    delete_all.click(lambda: gr.update(visible=True), None, question, **QUICK)
    keep.click(lambda: gr.update(visible=False), None, question, **QUICK)
    confirm.click(for_visitors(forget), session, [*page, question], **QUICK)
    file.connect(as_csv, lambda of: csv_file(service.export_csv(of), "clearhead-runs"), [session])
    file.connect(as_json, lambda of: json_file(service.export_json(of), "clearhead-runs"), [session])
