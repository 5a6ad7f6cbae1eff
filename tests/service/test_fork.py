"""A run that goes on from another token has the settings of the one before."""

import pytest

from demo.runs import fork_fields
from models.errors import InputError
from models.outputs import CompletionOutput, GeneratedToken, LoadedCheckpoint, Token
from models.registry import Task
from tests.log.runs import finished_run

OUTPUT = CompletionOutput(
    LoadedCheckpoint("clearhead-stories", "0123", "Apache-2.0"), (), "abc",
    tuple(GeneratedToken(Token(text, text, number), 0.5, ()) for number, text in enumerate("abc")),
)  # fmt: skip


@pytest.mark.parametrize(("logged", "guard"), [({"loop_guard": 3}, 3), ({}, 0)], ids=["guarded", "before guards"])
def test_what_stood_before_is_kept_and_the_settings_stay(logged: dict[str, int], guard: int) -> None:
    run = finished_run("a", task=Task.COMPLETION, parameters={"top_k": 7, **logged})
    fields = fork_fields(run, OUTPUT, 2, 9)
    assert fields["kept"] == (0, 9) and fields["top_k"] == 7 and fields["loop_guard"] == guard


def test_other_tasks_have_no_guard() -> None:
    run = finished_run("a", task=Task.TRANSLATION, parameters={"num_beams": 2})
    assert "loop_guard" not in fork_fields(run, OUTPUT, 1, 9)


@pytest.mark.parametrize("step", [0, 4])
def test_only_what_was_written_can_give_way(step: int) -> None:
    with pytest.raises(InputError, match="from 1 to 3"):
        fork_fields(finished_run("a"), OUTPUT, step, 9)
