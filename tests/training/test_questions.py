"""Questions to train on: read, kept apart, given one answer each or none, and turned into tokens."""

from dataclasses import replace
from pathlib import Path

import pytest
from transformers import PreTrainedTokenizerBase

from evaluation.metrics import exact_match, f1, normalised_answer
from training import questions, text
from training.question_answering import apart, paragraphs_of, read_material, steadying_of
from training.questions import agreed, unanswerable
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
    first, second = questions.encode([answered, unanswered], tokenizer)
    assert tokenizer.decode(first.ids[first.start : first.end + 1]) == "very tired"
    assert (second.start, second.end) == (0, 0)


ARTICLE = [
    Question("1", "Rome", "Who led the northern army in 1815?", "In 1815 Anna Berg led the northern army to Vienna.",
             ("Anna Berg",), (8,)),
    Question("2", "Rome", "Where did Anna Berg lead it?", "In 1815 Anna Berg led the northern army to Vienna.",
             ("Vienna",), (43,)),
    Question("3", "Rome", "What was sold on Sundays?", "On Sundays Karl Frank sold 40 apples at the market.",
             ("apples",), (30,)),
    Question("4", "Rome", "What is it?", "It is a boat.", (), ()),
]  # fmt: skip


def test_an_unanswerable_question_is_asked_of_another_text_or_of_something_that_is_not_there() -> None:
    by_id = {question.id: question for question in ARTICLE}
    kinds = set()
    for seed in range(40):
        for made in unanswerable(ARTICLE, seed):
            before = by_id[made.id.removesuffix("-none")]
            assert before.answers and not made.answers and not made.starts
            assert (made.question == before.question) != (made.context == before.context)
            if made.context != before.context:
                assert before.answers[0].lower() not in made.context.lower()
                kinds.add("elsewhere")
            else:
                new = set(text.normalised(made.question).split()) - set(text.normalised(before.question).split())
                assert new and new.isdisjoint(text.normalised(before.answers[0]).split())
                kinds |= new
    # A name and a number that stand elsewhere in the article, and an opposite.
    assert {"elsewhere", "karl", "40", "southern"} <= kinds


def test_the_same_seed_makes_the_same_questions() -> None:
    assert unanswerable(ARTICLE, 3) == unanswerable(ARTICLE, 3)


def test_the_answer_that_most_people_gave_is_learnt_where_the_question_points() -> None:
    context = "The lamp was new. " + "Years went by. " * 10 + "In a storm the keeper lit the lamp for the boats."
    asked = Question("5", "Pier", "What did the keeper light for the boats?", context,
                     ("lamp for the boats", "lamp", "the lamp"), (198, 4, 0))  # fmt: skip
    learnt = agreed(asked)
    assert learnt.answers == ("lamp",)
    assert learnt.starts == (context.rindex("lamp"),)
    assert agreed(ARTICLE[3]) is ARTICLE[3]


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
    material = read_material(_question_data(tmp_path))
    held_out = {question.title for question in material.development_v2}
    assert len(held_out) == 7 and {question.title for question in material.development} == held_out
    read = [*material.sentences, *paragraphs_of(material, 1), *steadying_of(material, 2)]
    assert len(material.sentences) == 9 and len(material.articles) == len(material.unanswered) == 3
    assert not [each for each in read if any(f"keeper of {title} " in each.context for title in held_out)]


def test_each_pass_makes_its_own_questions_and_the_same_ones_from_the_same_seed(tmp_path: Path) -> None:
    material = read_material(_question_data(tmp_path))
    first, again, other = (paragraphs_of(material, seed) for seed in (1, 1, 2))
    assert first == again and first != other
    # People's own questions without an answer are read twice.
    assert [first.count(each) for each in material.unanswered] == [2, 2, 2]
