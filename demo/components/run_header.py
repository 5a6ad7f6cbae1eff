"""The line under every answer that says what made it."""

import html

from demo.sessions.export import answer_in_words
from demo.sessions.records import Run
from models.checkpoints import REGISTRY
from models.outputs import TaskOutput

_SHOWN_OF_REVISION = 8
_PRECISIONS = {
    "bfloat16": "the numbers were rounded to about three digits on the way, which is quicker and moves no percentage "
    "by more than 2 points; attention is always computed exactly",
    "float16": "the weights were read in half of their bits, which is quicker and moves no percentage by more than "
    "2 points; attention is always computed exactly",
    "float32": "the numbers were not rounded on the way",
}


_ASKED = ("question", "text", "context", "prompt")
"""The fields that hold a visitor's own words, in the order in which forms show them."""


def run_header(run: Run, output: TaskOutput | None = None, *, recorded: bool = False, kept: bool = True) -> str:
    """Checkpoint, revision, licence, duration and precision of a run; a recorded one, or not `kept`, is marked so.

    With its `output` it also holds, for the page's scripts, the texts that were asked about and the answer as screen
    readers are told it.
    """
    known = REGISTRY.get(run.checkpoint)
    parts = [
        f'<span title="{html.escape(run.checkpoint)}">{html.escape(known.title if known else run.checkpoint)}</span>',
        f'<span title="which version of the model’s numbers: {html.escape(run.revision)}">revision '
        f"{html.escape(run.revision[:_SHOWN_OF_REVISION])}</span>",
        f"<span>{html.escape(run.license)}</span>",
        f"<span>{_duration(run.duration_ms)}{_in_precision(run.precision)}</span>",
        *([] if kept else ["<span>not kept in History</span>"]),
    ]
    mark = '<strong class="recorded">Recorded example</strong> ' if recorded else ""
    return f'<p class="run-header"{_told(run, output) if output else ""}>{mark}{" ".join(parts)}</p>'


def _told(run: Run, output: TaskOutput) -> str:
    asked = " ".join(str(run.inputs[name]) for name in _ASKED if name in run.inputs)
    said = f"Answer: {answer_in_words(output).strip() or 'No answer in this text'}"
    return f' data-asked="{html.escape(asked)}" data-said="{html.escape(said)}"'


def _duration(duration_ms: float) -> str:
    return f"{duration_ms / 1000:.1f} s" if duration_ms >= 1000 else f"{max(1, round(duration_ms))} ms"


def _in_precision(precision: str) -> str:
    told = _PRECISIONS.get(precision)
    return f' in <abbr title="{told}">{precision}</abbr>' if told else ""
