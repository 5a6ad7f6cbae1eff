"""The glossary: few terms, one sentence each, and no dead link between them and the page."""

import re

import gradio as gr
import pytest

from demo.lectures import LecturePlace
from demo.log.session_log import SessionLog
from demo.page import build_demo
from demo.runs import DemoService
from demo.settings import Settings
from demo.tabs.lecture import known_lectures
from demo.walk.steps import STEPS
from demo.widgets.glossary import Term, glossary, term, terms_linked, with_terms
from demo.widgets.lecture_bar import lecture_bar
from models.backend import LocalBackend
from models.loading.store import ModelStore

_LINK = re.compile(r'popovertarget="(term-[a-z-]+)"')


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The page's own texts by where they stand: all that it opens on, the steps of Inside and those of lectures."""
    log = SessionLog(f"sqlite:///{tmp_path_factory.mktemp('glossary')}/runs.sqlite3")
    demo = build_demo(DemoService(Settings(), LocalBackend(ModelStore()), log))
    opened = [block.value for block in demo.blocks.values() if isinstance(block, gr.HTML)]
    lectures = [
        lecture_bar(LecturePlace(each, number + 1, "http://host/"))
        for each in known_lectures(Settings()).values()
        for number in range(len(each.steps))
    ]
    return {
        "page": "".join(each for each in opened if isinstance(each, str)),
        "inside": "".join(with_terms(step.text) for step in STEPS),
        "lectures": "".join(lectures),
    }


@pytest.mark.parametrize("each", glossary(), ids=lambda each: each.name)
def test_a_term_has_one_sentence(each: Term) -> None:
    assert re.fullmatch(r"[A-Z][^.!?]*[^.!?\s]\.", each.sentence) and len(each.sentence) <= 160, each.sentence


def test_every_link_has_its_sentence_on_the_page_and_every_sentence_a_link(texts: dict[str, str]) -> None:
    linked = set(_LINK.findall("".join(texts.values())))
    cards = re.findall(r'<div popover id="(term-[a-z-]+)"', texts["page"])
    assert len(cards) == len(set(cards)) == len(glossary())
    assert linked == set(cards)


def test_the_glossary_stands_in_about_with_an_anchor_for_each_term(texts: dict[str, str]) -> None:
    for each in glossary():
        assert f'id="glossary-{each.anchor}"' in texts["page"]


def test_a_handler_s_texts_get_their_links_and_its_numbers_stay() -> None:
    with gr.Blocks():
        text, plain, slider = gr.HTML(), gr.HTML(), gr.Slider()
    updates = terms_linked({text: gr.update(value="<em>key</em>", visible=True), plain: "<em>value</em>", slider: 3})
    assert updates == {text: gr.update(value=term("key"), visible=True), plain: term("value"), slider: 3}
