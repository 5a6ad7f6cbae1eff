"""A run that parts from an earlier one at one token: what stood before is kept, the other token is put in."""

from typing import Any

from demo.log.run import Run
from models.errors import InputError
from models.outputs import TaskOutput, generated_ids
from models.registry import Task


def fork_fields(run: Run, output: TaskOutput, step: int, token_id: int) -> dict[str, Any]:
    """The fields of the new run, which puts `token_id` in the place of written token `step`, counted from 1.

    The settings stay, the seed too; raises `InputError` where nothing was written at that step.
    """
    written = generated_ids(output)
    if not written:
        raise InputError("This run wrote no text, so there is nothing to go on from.", "run_id")
    if not 1 <= step <= len(written):
        raise InputError(f"The step must be from 1 to {len(written)}.", "step")
    # A completion that was logged before there was a loop guard was written without one.
    unsaid = {"loop_guard": 0} if run.task is Task.COMPLETION else {}
    return {**unsaid, **run.fields, "kept": (*written[: step - 1], token_id)}
