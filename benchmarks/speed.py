"""Speed and memory against plain transformers and plain Gradio, both sides in one run.

    python -m benchmarks.speed                     all rows, as a table
    python -m benchmarks.speed --only "fill mask"  one row
    python -m benchmarks.speed --list              what can be measured
    python -m benchmarks.speed --json speed.json   the rows as JSON too

A row is `{work, baseline, ours, unit, ratio, needs, met}`: two medians, how many times the baseline we take, and the
most that may be. The sides take turns, so that a busy machine slows both, and `ratio` is the median over the pairs.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from itertools import count
from pathlib import Path

from benchmarks import crowd, foreign, processes, published, together
from benchmarks.inputs import INPUTS
from benchmarks.plain_transformers import plain
from benchmarks.work import Sides, Work, in_turns, measure, milliseconds
from demo.log.session_log import SessionLog
from demo.runs import DemoService
from demo.settings import Settings
from models.engine.choice import DEFAULT_SETTINGS
from models.loading.store import ModelStore
from models.registry import Task, find


def answering(task: str, **fields: object) -> Callable[[], Sides]:
    """A bundled checkpoint as the page runs it, against transformers as a user would call it, in float32."""

    def sides() -> Sides:
        model = ModelStore(engine=DEFAULT_SETTINGS).load(find(task))
        theirs = plain(model.checkpoint)
        return in_turns(lambda: theirs(**fields), lambda: model(**fields))

    return sides


def again() -> Sides:
    """A run of the service, log and all, against the same asked again."""
    with tempfile.TemporaryDirectory() as folder:
        service = DemoService(
            Settings(), ModelStore(engine=DEFAULT_SETTINGS), SessionLog(f"sqlite:///{folder}/clearhead.db")
        )
        session = service.new_session()
        for number in count():
            fields = INPUTS["translation"] | {
                "text": f"{number} children are playing in the garden because it is nice."
            }
            run = partial(service.run, session, Task.TRANSLATION, fields)
            yield milliseconds(run), milliseconds(run)


WORKS = (
    Work("fill mask", "ms", 0.25, answering("fill_mask", **INPUTS["fill_mask"])),
    Work("sentiment", "ms", 0.38, answering("sentiment", **INPUTS["sentiment"])),
    Work("question answering", "ms", 0.42, answering("question_answering", **INPUTS["question_answering"])),
    Work("translation, 4 beams", "ms", 0.38, answering("translation", **INPUTS["translation"])),
    Work("completion, sampled", "ms", 0.38, answering("completion", **INPUTS["completion"])),
    Work("completion, greedy", "ms", 0.38, answering("completion", **INPUTS["completion"], strategy="greedy")),
    Work("completion, 4 beams", "ms", 0.38, answering("completion", **INPUTS["completion"], strategy="beam")),
    *published.WORKS,
    Work("the same again", "ms", 1 / 20, again),
    *together.WORKS,
    *foreign.WORKS,
    *processes.WORKS,
    *crowd.WORKS,
)
"""One entry for each row: to add a row, yield pairs and say what they need."""


def main() -> int:
    """Measure, print a table, and return 1 if anything needs more than it may."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to FILE as well")
    parser.add_argument("--only", metavar="WORK", help="the row of this name, or those whose name holds WORK")
    parser.add_argument("--runs", type=int, help="how many pairs (a row's own number where this is not given)")
    parser.add_argument("--list", action="store_true", help="say what can be measured, and stop")
    arguments = parser.parse_args()
    named = [work for work in WORKS if work.name == arguments.only]
    works = named or [work for work in WORKS if not arguments.only or arguments.only in work.name]
    if arguments.list or not works:
        print(*(work.name for work in WORKS), sep="\n")
        return 0 if arguments.list else 2
    print(f"{'work':<46}{'baseline':>10}{'ours':>10}  {'unit':<5}{'ratio':>7}{'needs':>7}  met")
    rows = []
    for work in works:
        row = measure(work, arguments.runs if arguments.runs and work.runs > 1 else work.runs)
        rows.append(row)
        print(f"{row.work:<46}{row.baseline:>10,.1f}{row.ours:>10,.1f}  {row.unit:<5}{row.ratio:>7.2f}{row.needs:>7.2f}"
              f"  {'yes' if row.met else 'NO'}", flush=True)  # fmt: skip
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
