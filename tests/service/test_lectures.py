"""The lectures: those that ship can be given as they are, and a host's own are read or refused in a sentence."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr
import pytest

from demo.lectures import (
    Lecture,
    LectureError,
    LecturePlace,
    LectureStep,
    RoomQuestion,
    TaskView,
    lectures_of,
    place_of,
)
from demo.plots.view import is_resting_place, shown, view_of
from demo.reader.link import ReaderSettings
from demo.runs import DemoService
from demo.settings import Limits, Settings
from demo.tabs.completion import create_completion_tab
from demo.tabs.fill_mask import create_fill_mask_tab
from demo.tabs.inside import InsideTab
from demo.tabs.lecture import LectureViews, known_lectures
from demo.tabs.names import create_names_tab
from demo.tabs.question_answering import create_question_answering_tab
from demo.tabs.room_question import Votes, in_a_room, room_question
from demo.tabs.sentence_pair import create_sentence_pair_tab
from demo.tabs.sentiment import create_sentiment_tab
from demo.tabs.teach import create_teach_tab
from demo.tabs.translation import create_translation_tab
from demo.tabs.word_in_context import create_word_in_context_tab
from demo.tour.questions import Question
from demo.walk.steps import STEPS
from demo.walk.view import InsideRequest
from models.errors import InputError
from models.inside.parameters import sizes_of
from models.registry import REGISTRY, Task

KEYS = tuple(step.key for step in STEPS)
SHIPPED = lectures_of(None, KEYS, Limits())
STEPS_SHIPPED = [(name, number) for name, each in SHIPPED.items() for number in range(1, len(each.steps) + 1)]
TASKS_SHIPPED = [(name, i) for name, i in STEPS_SHIPPED if isinstance(SHIPPED[name].steps[i - 1].view, TaskView)]
GOOD: dict[str, Any] = {
    "title": "Mine",
    "about": "What I teach.",
    "steps": [{"title": "One", "text": "Look.", "inside": {"step": "tokens", "text": "A dog."}}],
}


@pytest.fixture(scope="module")
def views(service: DemoService) -> Iterator[LectureViews]:
    creates = (
        create_fill_mask_tab,
        create_sentiment_tab,
        create_question_answering_tab,
        create_names_tab,
        create_sentence_pair_tab,
        create_translation_tab,
        create_completion_tab,
        create_word_in_context_tab,
        create_teach_tab,
    )
    with gr.Blocks():
        session = gr.BrowserState("")
        tabs = [create(service, session) for create in creates]
        yield LectureViews({tab.task: tab for tab in tabs}, InsideTab(service))


def at(name: str, number: int) -> LecturePlace:
    return LecturePlace(SHIPPED[name], number, "http://127.0.0.1:7860/")


@pytest.mark.parametrize(("name", "number"), STEPS_SHIPPED)
def test_every_shipped_step_asks_for_what_is_there(service: DemoService, name: str, number: int) -> None:
    view = at(name, number).step.view
    if isinstance(view, InsideRequest):
        checked, _ = service.inside.checked(view)
        assert checked == (replace(view, position=checked.position) if view.position < 0 else view)
    else:
        shape = sizes_of(REGISTRY[view.checkpoint].folder)
        assert view.place.layer <= shape.layers
        assert view.place.head <= shape.heads


def test_a_view_is_computed_once_for_the_whole_room(
    views: LectureViews, service: DemoService, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, number = TASKS_SHIPPED[0]
    first = asyncio.run(views.view(at(name, number)))
    for update in first.values():
        if isinstance(update, dict):
            update.clear()  # as Gradio takes updates apart
    monkeypatch.setattr(service, "answer", None)
    again = asyncio.run(views.view(at(name, number)))
    assert again.keys() == first.keys()
    assert all(update for update in again.values() if isinstance(update, dict))


def test_a_task_answers_the_same_each_time_and_leaves_no_run(service: DemoService) -> None:
    views = [at(*each).step.view for each in TASKS_SHIPPED]
    view = next(each for each in views if isinstance(each, TaskView) and each.fields.get("strategy") == "sample")
    one, other = (service.answer(view.task, dict(view.fields), view.checkpoint) for _ in range(2))
    assert one.run.answer == other.run.answer
    assert service.history(one.run.session_id) == ()


def test_a_host_adds_lectures_and_replaces_a_namesake(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text(json.dumps(GOOD))
    (tmp_path / "bert.json").write_text(json.dumps(GOOD | {"title": "BERT, my way"}))
    found = known_lectures(Settings(lectures=str(tmp_path)))
    assert [*found] == [*SHIPPED, "mine"]
    assert found["bert"].title == "BERT, my way"
    assert found["mine"].steps[0].view == InsideRequest("tokens", "A dog.", "clearhead-minilm")


def test_a_shipped_lecture_keeps_to_the_hosts_limits() -> None:
    found = known_lectures(Settings(limits=Limits(new_tokens=5, beams=2)))
    assert {name: len(each.steps) for name, each in found.items()} == {
        name: len(each.steps) for name, each in SHIPPED.items()
    }
    for name, number in TASKS_SHIPPED:
        view, own = found[name].steps[number - 1].view, SHIPPED[name].steps[number - 1].view
        assert isinstance(view, TaskView) and isinstance(own, TaskView)
        bounds = {"max_new_tokens": 5, "num_beams": 2}
        assert view.fields == {
            field: min(value, bounds[field]) if field in bounds else value for field, value in own.fields.items()
        }
    assert any("max_new_tokens" in each.view.fields for each in found["gpt-2"].steps if isinstance(each.view, TaskView))


def test_a_step_that_a_host_refuses_is_left_out_and_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    found = known_lectures(Settings(limits=Limits(text=40, prompt=10)))
    steps = {"attention": 1, "bert": 4, "from-words-to-transformers": 3, "how-bert-is-used": 6}
    assert {name: len(each.steps) for name, each in found.items()} == steps
    assert found["attention"].steps[0] == SHIPPED["attention"].steps[-1]
    assert "gpt-2.json goes without step 4: The prompt is 45 characters long, and at most 10 are read" in caplog.text


@pytest.mark.parametrize(("name", "number"), [each for each in STEPS_SHIPPED if at(*each).step.question])
def test_a_shipped_question_can_be_made_and_one_of_its_choices_is_right(
    views: LectureViews, name: str, number: int
) -> None:
    asked = asyncio.run(views.question(at(name, number)))
    assert asked is not None and asked.right in asked.choices and len(set(asked.choices)) >= 2


def test_a_question_about_attention_is_about_the_word_in_the_head_that_the_step_shows(
    views: LectureViews, service: DemoService
) -> None:
    text = "The dog did not want the soup because it was too cold."
    view = TaskView(Task.SENTIMENT, {"text": text}, "clearhead-sentiment", ReaderSettings(how="head", layer=4, head=2))
    step = LectureStep("It", "Look.", view, question=RoomQuestion("looks", "Which word does {word} look at?", "it"))
    lecture = Lecture("own", "Own", "Of it.", (step, replace(step, question=RoomQuestion("looks", "Which?", "cat"))))
    asked = asyncio.run(views.question(LecturePlace(lecture, 1, "")))
    source = service.answer(Task.SENTIMENT, {"text": text}, "clearhead-sentiment").source
    shown_there = shown(view_of(service.attention(source), layer=3, head=1))
    (row,) = [i for i, token in enumerate(shown_there.query_tokens) if token.text.strip() == "it"]
    words = [i for i, token in enumerate(shown_there.key_tokens) if not is_resting_place(token)]
    most = max(words, key=lambda i: float(shown_there.weights[row, i]))
    assert asked is not None and asked.right == shown_there.key_tokens[most].text.strip()
    with pytest.raises(InputError, match="“cat” is no word of the text"):
        asyncio.run(views.question(LecturePlace(lecture, 2, "")))


def test_each_page_has_one_answer_in_its_room_and_rooms_are_apart() -> None:
    votes, one, other = Votes(), replace(at("bert", 1), room="a" * 8), replace(at("bert", 1), room="b" * 8)
    for page, chosen in (("first", "tea"), ("second", "tea"), ("first", "coffee")):
        votes.give(one, page, chosen)
    votes.give(other, "first", "wine")
    assert votes.counts(one) == {"coffee": 1, "tea": 1}
    assert votes.counts(other) == {"wine": 1}
    assert votes.counts(replace(one, number=7)) == {}


def test_what_is_asked_is_text_and_the_answer_is_not_in_it_before_it_is_shown() -> None:
    place = replace(at("bert", 1), room="a" * 8)
    asked = Question(("<b>tea</b>", "coffee"), "coffee", "Because of & so.")
    still = room_question(place, asked, counts={"coffee": 1})
    assert "1 answer so far" in still and "Because" not in still and "is-right" not in still
    assert "&lt;b&gt;tea&lt;/b&gt;" in still and "<b>" not in still
    said = room_question(place, asked, counts={"coffee": 3, "<b>tea</b>": 1}, shown=True)
    assert "Because of &amp; so." in said and "width:75.0%" in said and "<b>" not in said
    assert 'data-state="waiting"' in room_question(place)
    assert 'data-state="none"' in room_question(replace(place, number=2))


def test_a_folder_that_is_not_there_is_named() -> None:
    with pytest.raises(LectureError, match=r"^CLEARHEAD_LECTURES must name a folder, and '/no/such' is none\.$"):
        known_lectures(Settings(lectures="/no/such"))


FINE = {"task": "sentiment", "fields": {"text": "It was fine."}}


def faulty(**change: object) -> dict[str, Any]:
    step = {**GOOD["steps"][0], **change}
    return GOOD | {"steps": [{name: value for name, value in step.items() if value is not None}]}


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("{", "invalid JSON"),
        (GOOD | {"steps": []}, "“steps”"),
        (GOOD | {"colour": "red"}, "“colour”"),
        (faulty(title=None), "step 1, “title”, field required"),
        (faulty(inside=None), "step 1: It needs a view, either “inside” or “tab”."),
        (faulty(tab={"task": "sentiment", "fields": {"text": "Fine."}}), "step 1: It needs a view"),
        (faulty(inside={"step": "magic", "text": "A dog."}), "step 1: Inside has no step “magic”"),
        (faulty(inside={"step": "tokens", "text": " "}), "step 1: The text is empty."),
        (faulty(inside={"step": "tokens", "text": "A dog.", "layer": -1}), "“layer”"),
        (faulty(inside={"step": "tokens", "text": "A dog.", "checkpoint": "gpt2"}), "is no bundled model"),
        (faulty(inside=None, tab={"task": "summary", "fields": {}}), "There is no task “summary”"),
        (faulty(inside=None, tab={"task": "sentiment", "fields": {"tone": "x"}}), "has no field “tone”"),
        (faulty(inside=None, tab={"task": "sentiment", "fields": {"text": "x" * 6000}}), "at most 5,000"),
        (
            faulty(inside=None, tab={"task": "completion", "fields": {"prompt": "x", "seed": "one"}}),
            "The seed must be a whole number.",
        ),
        (faulty(inside=None, tab={"task": "sentiment", "fields": {"text": "x"}, "attention": {"how": "all"}}), "“how”"),
        (
            faulty(question={"asks": "label", "text": "Which?"}),
            "“label” is a question about a “tab” with the task sentiment",
        ),
        (faulty(inside=None, tab=FINE, question={"asks": "blank", "text": "Which?"}), "with the task fill_mask"),
        (faulty(inside=None, tab=FINE, question={"asks": "head", "text": "Which?"}), "A step cannot ask “head”"),
        (faulty(inside=None, tab=FINE, question={"asks": "looks", "text": "Which?"}), "A question has a “word” where"),
        (faulty(inside=None, tab=FINE, question={"asks": "label", "text": ""}), "“text”"),
    ],
)
def test_a_file_that_is_no_lecture_is_refused_in_one_sentence(
    tmp_path: Path, written: str | dict[str, Any], said: str
) -> None:
    (tmp_path / "mine.json").write_text(written if isinstance(written, str) else json.dumps(written))
    with pytest.raises(LectureError) as refused:
        known_lectures(Settings(lectures=str(tmp_path)))
    assert str(refused.value).startswith("mine.json")
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("base", ["http://192.168.0.7:7860/", "https://example.org/clearhead/"])
def test_a_link_leads_to_its_step_under_the_address_that_the_browser_uses(base: str) -> None:
    place = place_of(f"{base}?lecture=bert&step=3&__theme=dark", SHIPPED)
    assert place is not None
    assert (place.lecture.name, place.number) == ("bert", 3)
    assert place.link == f"{base}?lecture=bert&step=3"
    assert place_of(place.link, SHIPPED) == place
    own = in_a_room(place)
    assert own.link == f"{place.link}&room={own.room}" and own.room != in_a_room(place).room
    assert place_of(own.link, SHIPPED) == own
    assert place_of(f"{place.link}&room=%3Cscript%3E", SHIPPED) == place


@pytest.mark.parametrize(
    "address",
    ["", "http://host/", "http://host/?shared=abc", "javascript:alert(1)?lecture=bert", "http://[::1?lecture"],
)
def test_an_address_without_a_lecture_opens_none(address: str) -> None:
    assert place_of(address, SHIPPED) is None


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("?lecture=magic", "There is no lecture of that name here; there are: Attention in 10 minutes, "),
        ("?lecture=bert&step=0", "“How BERT was trained” has no such step; its steps go from 1 to "),
        ("?lecture=bert&step=99", "has no such step"),
        ("?lecture=bert&step=two", "has no such step"),
        ("?lecture=bert&step=-1", "has no such step"),
    ],
)
def test_a_lecture_or_step_that_is_not_there_is_said_to_be_so(query: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        place_of("http://host/" + query, SHIPPED)
    assert said in refused.value.sentence
