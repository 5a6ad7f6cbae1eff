"""What the walk through a decoder's steps says of one step, and of two texts that part."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest

from demo.log.run import Run
from demo.writing.table import step_table
from demo.writing.text import forked_text, token_group
from models.outputs import (
    Alternative,
    CompletionOutput,
    GeneratedToken,
    LoadedCheckpoint,
    Prediction,
    Token,
    TranslationOutput,
)
from models.registry import Task

USED = LoadedCheckpoint("clearhead-stories", "0123456789abcdef", "Apache-2.0")
NASTY = "<script>alert('x')</script>"
SAMPLE = {"strategy": "sample", "temperature": 0.7, "top_k": 2, "top_p": 0.9}


def written(text: str, token_id: int = 1, others: tuple[Alternative, ...] = (), **drawn: Any) -> GeneratedToken:
    return GeneratedToken(Token(text, text, token_id), 0.5, others, **drawn)


def plain(markup: str) -> str:
    return re.sub(r"<[^>]+>", "", markup).replace("\u202f", " ")


def rows(markup: str) -> list[str]:
    return [plain(row) for row in re.findall(r"<tr.*?</tr>", markup)[1:]]


def completion(*texts: str) -> CompletionOutput:
    tokens = tuple(written(text, token_id=sum(map(ord, text))) for text in texts)
    return CompletionOutput(USED, (), "".join(texts), tokens)


def run(**fields: Any) -> Run:
    return Run("1", "s", Task.COMPLETION, USED.name, USED.revision, USED.license, {"prompt": "Once"}, fields, None,
               None, 41.0, None, datetime(2026, 1, 2, tzinfo=UTC))  # fmt: skip


def test_a_drawn_token_is_shown_before_and_after_the_cut_offs() -> None:
    others = (
        Alternative(" cat", 0.5, 1, 0.8), Alternative(" dog", 0.2, 2, 0.2), Alternative(" fox", 0.1, 3, 0.0)
    )  # fmt: skip
    shown = step_table(1, "A", [written(" cat", 1, others, drawn=0.8, left=2)], SAMPLE)
    assert rows(shown) == ["cat50 %80 %chosen", "dog20 %20 %go on", "fox10 %cut by top-kgo on"]
    assert "“cat” was drawn; the model gave it 50 % of the probability, the settings made that 80 %" in plain(shown)
    assert "Temperature 0.7 makes the likely likelier; top-k keeps the 2 likeliest" in plain(shown)
    assert "2 tokens were left to draw from" in plain(shown)
    assert "cut by top-p" in step_table(1, "A", [written(" cat", 1, others, drawn=1.0, left=1)], SAMPLE | {"top_k": 0})


def test_what_the_loop_guard_cuts_is_told_and_leaves_its_rank_to_the_next() -> None:
    others = (
        Alternative(" dog", 0.5, 2, 0.0), Alternative(" cat", 0.2, 1, 1.0), Alternative(" fox", 0.1, 3, 0.0),
        Alternative(" owl", 0.05, 4, 0.0)
    )  # fmt: skip
    barred = written(" cat", 1, others, drawn=1.0, left=1, barred=(2,))
    shown = step_table(1, "A", [barred], SAMPLE | {"loop_guard": 4})
    assert [row.split("%")[-1] for row in rows(shown)] == [
        "cut by the loop guardgo on", "chosen", "cut by top-pgo on", "cut by top-kgo on"
    ]  # fmt: skip
    assert "the loop guard cuts what would say the same 4 tokens a third time" in plain(shown)
    free = step_table(1, "A", [written(" cat", 1, others, drawn=1.0, left=1)], SAMPLE | {"loop_guard": 4})
    assert "loop guard" not in plain(free)


@pytest.mark.parametrize(("strategy", "said"), [("greedy", "Greedy search takes"), ("beam", "Beam search keeps")])
def test_a_search_says_that_nothing_is_drawn(strategy: str, said: str) -> None:
    shown = plain(step_table(1, "", [written(" cat", 1, (Alternative(" cat", 0.5, 1),))], {"strategy": strategy}))
    assert said in shown and "Nothing is drawn" in shown and "“cat” was taken" in shown and "nothing yet" in shown


def test_a_token_that_is_not_among_the_likeliest_has_a_row_of_its_own() -> None:
    shown = step_table(1, "A", [written(" owl", 9, (Alternative(" cat", 0.6, 1),))], {"strategy": "beam"})
    assert rows(shown) == ["cat60 %go on", "owl50 %chosen"]


def test_runs_from_before_ids_were_kept_offer_no_other_way() -> None:
    shown = step_table(1, "A", [written(" cat", 1, (Alternative(" cat", 0.5), Alternative(" dog", 0.2)))], {})
    assert rows(shown) == ["cat50 %chosen", "dog20 %"]


def test_tokens_that_were_put_in_are_told() -> None:
    generated = [written(" cat", 1, (Alternative(" cat", 0.5, 1),))] * 2
    assert "was put in" in step_table(1, "A", generated, {"strategy": "greedy"}, kept=1)
    assert "was put in" not in step_table(2, "A", generated, {"strategy": "greedy"}, kept=1)


def test_nothing_that_was_written_is_markup() -> None:
    nasty = written(NASTY, 1, (Alternative(NASTY, 0.5, 2),))
    output = CompletionOutput(USED, (), NASTY, (nasty,))
    for markup in (
        step_table(1, NASTY, [nasty], {"strategy": "greedy"}),
        forked_text(1, output, output, run(prompt=NASTY)),
        token_group(output),
    ):
        assert "<script" not in markup


def test_what_differs_between_two_texts_is_marked() -> None:
    shown = forked_text(2, completion(" a", " cat", " ran", "."), completion(" a", " dog", " sat", "."), run())
    marked = [plain(each) for each in re.findall(r"<mark>.*?</mark>", shown)]
    assert marked == [" cat ran", " dog sat"]
    assert "With “dog” in place of “cat”, 2 of 4 tokens differ" in plain(shown)
    assert "chance starts again from the seed" not in shown
    sampled = forked_text(2, completion(" a", " cat"), completion(" a", " dog"), run(strategy="sample"))
    assert "chance starts again from the seed" in sampled and "1 of 2 tokens differs" in sampled


def test_one_token_can_be_reached_by_keyboard_and_the_chosen_one_is_checked() -> None:
    output = completion(" a", "\n", " cat")
    shown = token_group(output, 3)
    assert shown.count('tabindex="0"') == 1 and shown.count('aria-checked="true"') == 1
    assert 'aria-checked="true" tabindex="0" data-step="3"' in shown
    assert token_group(output).count('tabindex="0"') == 1
    assert "line break" in shown


def test_the_end_of_a_translation_can_be_chosen() -> None:
    end = GeneratedToken(Token("</s>", "</s>", 0, special=True), 0.9, ())
    output = TranslationOutput(USED, (), (Prediction("Bonjour", -0.5),), (), (written("▁Bonjour"), end))
    shown = token_group(output, 2)
    assert shown.count('role="radio"') == 2 and "end of the text" in shown and ">end<" in shown
