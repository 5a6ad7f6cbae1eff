"""The page's table of contents: one line for each tab."""

from pathlib import Path
from threading import Lock
from typing import Any

import gradio as gr

from demo.api.looks import add_look_endpoints
from demo.api.sessions import add_session_endpoints
from demo.api.tasks import add_task_endpoints, add_writing_endpoints
from demo.events import QUICK
from demo.language import _, add_catalogues, language
from demo.runs import DemoService
from demo.tabs.about import create_about_tab
from demo.tabs.cells import create_cells_form
from demo.tabs.completion import create_completion_tab
from demo.tabs.endings import create_endings_form
from demo.tabs.fill_mask import create_fill_mask_tab
from demo.tabs.generations import create_generations_tab
from demo.tabs.history import create_history_tab
from demo.tabs.inside import InsideTab
from demo.tabs.inside_address import open_addresses
from demo.tabs.lecture import create_lecture_bar, known_lectures, open_lectures
from demo.tabs.names import create_names_tab
from demo.tabs.question_answering import create_question_answering_tab
from demo.tabs.room_question import create_room_question
from demo.tabs.sentence_pair import create_sentence_pair_tab
from demo.tabs.sentiment import create_sentiment_tab
from demo.tabs.shared import create_shared_notice, open_shared_runs
from demo.tabs.surprise import create_surprise_tab
from demo.tabs.teach import create_teach_tab
from demo.tabs.tiny_model import create_tiny_model_form
from demo.tabs.training import create_pretraining, create_training_tab
from demo.tabs.translation import create_translation_tab
from demo.tabs.translators import create_translators_form
from demo.tabs.word_in_context import create_word_in_context_tab
from demo.tabs.written_by import create_written_by_form
from demo.theme import ASSETS, script
from demo.tour.events import create_tour_bar, create_tour_offer, open_tours
from demo.tour.files import tours_of
from demo.web.gradio_private import Page, described_anew, without_apps
from demo.web.headers import MOTTO
from demo.web.identity import SessionSigner, host_secret, signed_session
from demo.web.languages import switch
from demo.widgets import Updates
from demo.widgets.glossary import create_sentences, link_terms
from demo.widgets.runs import kept_note
from models.registry import Task

# An SVG filter that gives the heatmap, whose cells show weights as opacity, the blues of the coloured sentence.
_SCALE = (ASSETS / "attention_scale.svg").read_text(encoding="utf-8")
_SCRIPTS = "\n".join(
    script(name)
    for name in (
        "sheet_words.js",
        "theme.js",
        "languages.js",
        "place_in_line.js",
        "choices.js",
        "api_page.js",
        "answers.js",
        "addresses.js",
    )
)


def build_demo(service: DemoService) -> gr.Blocks:
    """Build the whole page, over `service`, in every language, without loading a model."""
    if service.settings.languages:
        add_catalogues(Path(service.settings.languages))
    demo = _build(service)
    # The page's description by language; `None` where that is what `demo` itself has.
    descriptions: dict[str, Any] = {language(): None}
    one_at_a_time = Lock()

    def described() -> Any:
        code = language()
        with one_at_a_time:
            if code not in descriptions:
                descriptions[code] = described_anew(demo, lambda: _build(service))
            return descriptions[code]

    demo.described_here = described
    service.defaults.watch(descriptions.clear)
    return demo


def _header() -> str:
    return f"""
<header class="masthead"><h1>Clearhead</h1><p>{_(MOTTO)}</p>{switch()}
<button type="button" class="theme" aria-label="{_("Switch between light and dark")}">◐</button>
<p class="sr-only announced" role="status" aria-live="polite"></p></header>
"""


def _build(service: DemoService) -> Page:
    """Build the page in the current language."""
    settings = service.settings
    lectures = known_lectures(settings)
    tours = tours_of(settings.tours, settings.limits)
    demo: Page
    with without_apps(), Page(title="Clearhead", analytics_enabled=False, fill_width=True) as demo:
        # `Admission` bounds the queue: Gradio counts small calls among the runs, and answers a bare 503.
        demo.queue(0.5, default_concurrency_limit=settings.concurrency, api_open=False)
        # Before the tabs, whose events must not take the names of the endpoints.
        for add_endpoints in (add_task_endpoints, add_writing_endpoints, add_session_endpoints, add_look_endpoints):
            add_endpoints(service)
        session = signed_session(SessionSigner(host_secret(settings)))
        with gr.Row(elem_classes="top"):
            masthead = gr.HTML(_header() + _SCALE, js_on_load=_SCRIPTS, elem_classes="masthead-box", label="Clearhead")
            create_tour_offer(tours)
            note = gr.HTML(kept_note(service, ""), elem_classes="kept-note", label=_("What is kept"))
        lecture_bar, room_box = create_lecture_bar(), create_room_question()
        tour_bar = create_tour_bar()
        shared_notice = create_shared_notice()
        with gr.Tabs(elem_classes="task-tabs", overflow_behavior="wrap") as tabs:
            task_tabs = {
                Task.FILL_MASK: create_fill_mask_tab(service, session),
                Task.SENTIMENT: create_sentiment_tab(service, session),
                Task.QUESTION_ANSWERING: create_question_answering_tab(service, session),
                Task.NAMES: create_names_tab(service, session),
                Task.SENTENCE_PAIR: (pairs := create_sentence_pair_tab(service, session)),
                Task.ENDINGS: create_endings_form(service, session, pairs),
                Task.TRANSLATION: (translation := create_translation_tab(service, session)),
                Task.TRANSLATORS: create_translators_form(service, session, translation),
                Task.COMPLETION: create_completion_tab(service, session),
            }
            inside = InsideTab(service, lectures.values())
            task_tabs[Task.SURPRISE] = (surprise := create_surprise_tab(service, session))
            task_tabs[Task.WRITTEN_BY] = create_written_by_form(service, session, surprise)
            task_tabs[Task.WORD_IN_CONTEXT] = create_word_in_context_tab(service, session)
            task_tabs[Task.TEACH] = create_teach_tab(service, session)
            task_tabs[Task.TRAINING_STEP] = training = create_training_tab(service, session)
            task_tabs[Task.TINY_MODEL] = create_tiny_model_form(service, session, training)
            create_pretraining(training)
            task_tabs[Task.GENERATIONS] = generations = create_generations_tab(service, session)
            task_tabs[Task.CELLS] = create_cells_form(service, session, generations)
            create_history_tab(service, session, tabs, task_tabs, note)
            create_about_tab(service, tabs, task_tabs)
        create_sentences()
        link_terms(demo)
        open_shared_runs(service, demo, tabs, task_tabs, shared_notice)
        open_lectures(lectures, settings.host, demo, lecture_bar, room_box, tabs, task_tabs, inside)
        open_tours(service, tours, lectures, tour_bar, tabs, task_tabs)
        open_addresses(inside, demo, tabs, masthead)

        def begin(session_id: str) -> Updates:
            session_id = session_id or service.new_session()
            return {session: session_id, note: kept_note(service, session_id)}

        demo.load(begin, session, [session, note], **QUICK)
    return demo
