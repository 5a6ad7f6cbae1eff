"""Training data for questions: read, kept apart, given one answer each, and turned into tokens."""

from dataclasses import replace
from pathlib import Path

import pytest
from transformers import PreTrainedTokenizerBase

from evaluation.metrics import exact_match, f1, normalised_answer
from training import text
from training.question_answering import apart, encode, read_data, span_to_learn
from training.text import Question


def test_questions_on_held_out_articles_or_their_sentences_are_left_out() -> None:
    def question(title: str, context: str) -> text.Question:
        return text.Question("1", title, "Who?", context, (), ())

    kept = question("C", "A crow sat there.")
    questions = [question("A", "Other words here."), question("B", "the owl slept until noon ."), kept]
    assert apart(questions, frozenset({"A"}), text.fingerprint(["The owl slept until noon. It woke."])) == [kept]


def test_squad_files_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    questions = [
        text.Question("a", "Owls", "When?", "It slept until noon.", ("noon",), (15,)),
        text.Question("b", "Owls", "Where?", "It slept until noon.", (), ()),
    ]
    text.write_squad(questions, tmp_path / "questions.json")
    assert text.read_squad(tmp_path / "questions.json") == questions


def test_answers_are_compared_as_squad_does() -> None:
    assert normalised_answer(" The  Old, grey-haired Owl! ") == "old greyhaired owl"
    assert exact_match("the owl.", ["Owl"]) == 1.0
    assert exact_match("", []) == 1.0 and exact_match("owl", []) == 0.0
    assert f1("the grey owl", ["an owl", "grey barn owl"]) == pytest.approx(0.8)
    assert f1("crow", ["owl"]) == 0.0 and f1("", []) == 1.0 and f1("crow", []) == 0.0


def test_answer_tokens_are_found_and_missing_answers_point_at_cls(tokenizer: PreTrainedTokenizerBase) -> None:
    context = "The owl, very tired, slept until noon."
    answered = text.Question("a", "t", "How did the owl feel?", context, ("very tired",), (context.index("very"),))
    unanswered = text.Question("b", "t", "Where is the crow?", context, (), ())
    first, second = encode([answered, unanswered], tokenizer)
    assert tokenizer.decode(first.ids[first.start : first.end + 1]) == "very tired"
    assert (second.start, second.end) == (0, 0)


def test_the_answer_that_most_people_gave_is_learnt() -> None:
    context = "The keeper lit the lamp for the boats."
    asked = Question("5", "Pier", "What was lit?", context, ("lamp for the boats", "lamp", "the lamp"), (19, 19, 15))
    assert span_to_learn(asked) == (19, 23)


def _question_data(folder: Path) -> Path:
    """Ten articles in both versions of SQuAD; the short texts repeat a sentence of each."""

    def asked(title: str, *, answered: bool, start: str = "") -> Question:
        context = f"{start}The keeper of {title} lit lamp {len(title)} in 1851. Nobody saw {title}."
        answer = (("1851",), (context.index("1851"),)) if answered else ((), ())
        return Question(
            f"{title}{answered}{start}", title, f"When did the keeper of {title} light it?", context, *answer
        )

    titles = [f"Harbour{'x' * number}" for number in range(10)]
    first = [asked(title, answered=True) for title in titles]
    text.write_squad(first, folder / "qa/squad_v1_articles.json")
    text.write_squad(first + [asked(title, answered=False) for title in titles], folder / "qa/squad_v2_articles.json")
    for number, name in enumerate(("qamr_1", "qamr_2", "fairytaleqa_train")):
        again = [asked(title, answered=True, start=f"Rain fell {number} times. ") for title in titles]
        text.write_squad([replace(each, title=f"{name}{each.title}") for each in again], folder / f"qa/{name}.json")
    return folder


def test_nothing_on_a_held_out_article_is_read_in_any_stage(tmp_path: Path) -> None:
    material = read_data(_question_data(tmp_path))
    held_out = {question.title for question in material.development_v2}
    assert len(held_out) == 7 and {question.title for question in material.development} == held_out
    read = [*material.sentences, *material.paragraphs]
    # Three articles are left of each version and of each file of short questions, which are read twice.
    assert len(material.sentences) == 9 and len(material.paragraphs) == 15
    assert sum(not each.answers for each in material.paragraphs) == 3
    assert not [each for each in read if any(f"keeper of {title} " in each.context for title in held_out)]
