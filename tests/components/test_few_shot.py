import pytest

from demo.recorded import examples_of
from demo.writing.more_texts import few_shot_note
from models.registry import Task


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("clearhead-stories", "has read only stories and film reviews and does not learn from them"),
        ("gpt2", "gpt2 has read the web and follows them a little"),
        ("openai-gpt", "has read only novels"),
        ("no such model", "few-shot prompts"),
    ],
)
def test_what_few_shot_prompts_need_is_said_for_the_chosen_model(name: str, said: str) -> None:
    assert said in few_shot_note(name)


def test_the_last_three_examples_are_few_shot_prompts() -> None:
    labels = [example.label for example in examples_of(Task.COMPLETION)][-3:]
    assert labels == ["translate by example", "question and answer", "continue a pattern"]
