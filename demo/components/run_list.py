"""The runs of a session as a list, each with a button to open it and one to delete it."""

import html

from demo.log.answers import load_answer
from demo.log.export import answer_in_words
from demo.log.run import Run
from models.registry import REGISTRY, Task

TASK_TITLES = {
    Task.FILL_MASK: "Fill the blank",
    Task.SENTIMENT: "Sentiment",
    Task.QUESTION_ANSWERING: "Questions",
    Task.TRANSLATION: "Translate",
    Task.COMPLETION: "Write on",
}
"""The tabs' names in plain words."""

CHOOSE_RUN = """
element.addEventListener('click', (event) => {
  const button = event.target.closest('button[data-run]');
  if (button) trigger(button.dataset.action, {run_id: button.dataset.run});
});
"""
"""Run in the page: tells which run is to be opened (`select`), deleted (`delete`) or no longer shared (`clear`)."""

_NOTHING_YET = "Nothing here yet. Every run of this browser will be listed, newest first."
_NOT_KEPT = "The session log cannot be written at the moment: what you run now is lost when this server restarts."
_SHARED = '<strong class="shared">shared: whoever has the link can see it</strong>'
_LONGEST_EXCERPT = 140


def run_list(runs: tuple[Run, ...], kept: bool = True, shared: frozenset[str] = frozenset()) -> str:
    """The runs in the order given, which is newest first; a warning above them when runs are not `kept`.

    `shared` are the ids of those that whoever has their link can see: they are marked, and sharing can be stopped.
    """
    warning = "" if kept else f'<p role="alert">{_NOT_KEPT}</p>'
    if not runs:
        return f'{warning}<p class="quiet">{_NOTHING_YET}</p>'
    entries = "".join(_entry(run, run.id in shared) for run in runs)
    return f'{warning}<ol class="runs" aria-label="Runs, newest first">{entries}</ol>'


def _entry(run: Run, shared: bool) -> str:
    title = TASK_TITLES[run.task]
    # A question says more about a run than the text it was asked about.
    given = str(next((run.inputs[name] for name in ("question", "text", "prompt") if name in run.inputs), ""))
    when = f"{run.created_utc:%Y-%m-%dT%H:%M:%SZ}"
    known = REGISTRY.get(run.checkpoint)
    said = f"{title}: {_excerpt(given, 40)}"
    return (
        f'<li><div class="run-text"><p class="quiet facts"><strong>{title}</strong> '
        f'<time datetime="{when}">{run.created_utc:%d %b %Y, %H:%M} UTC</time> '
        f"<span>{html.escape(known.title if known else run.checkpoint)}</span>"
        f"{_SHARED if shared else ''}</p>"
        f"<p><bdi>{html.escape(_excerpt(given)) or '(empty)'}</bdi></p>{_outcome(run)}</div>"
        f'<div class="run-actions">{_button(run, "clear", "Stop sharing", said) if shared else ""}'
        f"{_button(run, 'select', 'Open', said)}"
        f"{_button(run, 'delete', 'Delete', said)}</div></li>"
    )


def _outcome(run: Run) -> str:
    if run.answer is None:
        return f'<p class="failed">{html.escape(run.error or "")}</p>'
    words = _excerpt(answer_in_words(load_answer(run.task, run.answer))) or "No answer in this text"
    return f'<p class="outcome">→ <bdi>{html.escape(words)}</bdi></p>'


def _button(run: Run, action: str, name: str, said: str) -> str:
    return (
        f'<button type="button" data-run="{html.escape(run.id)}" data-action="{action}" '
        f'aria-label="{name}: {html.escape(said)}">{name}</button>'
    )


def _excerpt(text: str, most: int = _LONGEST_EXCERPT) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
