"""About: how to read the page, what is kept, the models with their licences, and the host's default models."""

import html
from collections.abc import Callable, Mapping
from typing import Any

import gradio as gr
from huggingface_hub.constants import HF_HUB_OFFLINE

from demo.defaults import BUNDLED
from demo.events import PROGRESS, QUICK, for_visitors, told
from demo.language import N_, _
from demo.limits import limits_in_words
from demo.runs import DemoService
from demo.tabs.columns import lead
from demo.tabs.course import create_course
from demo.tabs.history import UNKEPT
from demo.tabs.task_tab import TaskTab
from demo.web.visitors import is_from_this_machine, is_this_machine
from demo.widgets import Updates
from demo.widgets.glossary import glossary_section
from demo.widgets.notice import create_notice, noticed
from demo.widgets.runs import TASK_TITLES, kept_for
from models.errors import InputError
from models.registry import STANDARD, Checkpoint, Task, checkpoints_for

_LEAD = N_("Type a text, get a Transformer’s answer, and see what the model looked at.")
_PICTURES = (
    N_(
        "A Transformer cuts a text into <em>tokens</em>, words or pieces of words (“##” marks a piece that goes on). "
        "It then works on all of them in <em>layers</em>. In each layer several <em>heads</em> let every token take in "
        "some of the others: the shares it gives out are its <em>attention</em>, and they add up to 100&nbsp;%."
    ),
    N_(
        "In a heatmap, a row is the token that looks (the papers say <em>query</em>) and a column the token it looks "
        "at (<em>key</em>). The stronger the colour of a cell, the larger the share. “Mean” averages over layers or "
        "heads. Hatched cells are <em>masked</em>: there the model may not look."
    ),
    N_(
        "Attention is not an explanation. It shows what a step of the computation mixed together; much else happens "
        "between that and the answer, and a model can reach the same answer with other attention."
    ),
)
_NUMBERS = N_(
    "A percentage is the share of the probability that this model gives to something, out of everything it could have "
    "said. It is not a promise that it is true."
)
_MODELS = N_(
    "The first of each list is part of this page and needs no network. The others are published by their makers and "
    "are downloaded when they are first chosen."
)
_STANDARD_GB = sum(each.size_mb for each in STANDARD.values()) / 1000
_STANDARD_NAMES = ", ".join(html.escape(each.title) for each in STANDARD.values())
_CHOSEN_BY_HOST = N_("Which they are is for the host to say, with <code>make models</code> or CLEARHEAD_DEFAULTS.")
_NOT_FROM_HERE = N_("The default models can be changed only from the machine that serves this page.")


def create_about_tab(service: DemoService, tabs: gr.Tabs, task_tabs: Mapping[Task, TaskTab]) -> None:
    """Create the tab, static but for the host's choice of default models, which the pickers of `task_tabs` follow.

    The buttons of its last section open one of the `tabs` with an example.
    """
    settings = service.settings
    with gr.Tab(_("About"), id="about", elem_id="tab-about", alignment="right") as tab:
        lead(_(_LEAD))
        kept = _(
            "Each run is kept so that History can show it: its text, settings, answer, model and time, under a random "
            "number that only this browser knows. No address and no name is kept. {kept_for}",
            kept_for=kept_for(settings),
        )
        switch = _(
            "In History you can delete one run or all of them at any time. The switch “{switch}” there turns keeping "
            "off: nothing that you type from then on is written down, and within an hour it has left this host’s "
            "memory too.",
            switch=_(UNKEPT),
        )
        limits = "".join(f"<li>{_(sentence)}</li>" for sentence in limits_in_words(settings))
        _prose(
            _section(_("How to read the pictures"), *map(_, _PICTURES)),
            _section(_("How to read the numbers"), _(_NUMBERS)),
            _section(_("What is kept"), kept, switch, anchor="kept"),
            _section(_("Limits")) + f"<ul>{limits}</ul>",
            _section(_("The models"), _(_MODELS)),
        )
        _create_choice(service, task_tabs, tab)
        _prose(_models(), glossary_section())
        create_course(tabs, task_tabs)


def _prose(*parts: str) -> None:
    gr.HTML(f'<div class="prose-page">{"".join(parts)}</div>')


def _section(title: str, *paragraphs: str, anchor: str = "") -> str:
    """A heading, with an `anchor` for links to it if there is one, and the paragraphs below it."""
    place = f' id="{anchor}"' if anchor else ""
    return f"<h2{place}>{title}</h2>{''.join(f'<p>{each}</p>' for each in paragraphs)}"


def _create_choice(service: DemoService, task_tabs: Mapping[Task, TaskTab], tab: gr.Tab) -> None:
    """Create the line on the default models and, for a browser on the host itself, the buttons that change them.

    From elsewhere a visitor could fill the host's disk, and change the page for all others.
    """
    settings, defaults = service.settings, service.defaults
    words = _choice_in_words(service, may_change=False)
    said = gr.HTML(words, label=_("The default models"), elem_classes="default-models")
    fixed = settings.defaults or settings.root_path or settings.space_id
    if fixed or not is_this_machine(settings.address):
        return
    notice = create_notice()
    with gr.Row(elem_classes="history-actions"):
        look: dict[str, Any] = {"visible": False, "scale": 0, "min_width": 290}
        fetch = gr.Button(_("Fetch the published models"), variant="primary", **look)
        back = gr.Button(_("Back to the bundled models"), **look)

    def show(request: gr.Request) -> Updates:
        may_change = is_from_this_machine(request)
        return {
            said: _choice_in_words(service, may_change),
            fetch: gr.update(visible=may_change and not defaults.are_published and not HF_HUB_OFFLINE),
            back: gr.update(visible=may_change and defaults.are_published),
        }

    def change(request: gr.Request, choose: Callable[[], None]) -> Updates:
        try:
            if not is_from_this_machine(request):
                raise InputError(_NOT_FROM_HERE)
            choose()
        except InputError as error:
            return {notice: noticed(_(error.sentence))}
        pickers = [each.picker for each in task_tabs.values()]
        return {
            **show(request),
            notice: noticed(""),
            **{each: gr.update(choices=each.choices, value=each.value) for each in pickers},
        }

    def fetch_published(request: gr.Request, progress: gr.Progress = PROGRESS) -> Updates:
        return change(request, lambda: defaults.fetch(told(progress)))

    def go_back(request: gr.Request) -> Updates:
        return change(request, lambda: defaults.choose(BUNDLED))

    changed = [said, fetch, back, notice, *(each.picker for each in task_tabs.values())]
    tab.select(for_visitors(show), None, [said, fetch, back], **QUICK)
    alone: dict[str, Any] = {"concurrency_id": "fetching", "concurrency_limit": 1, "api_visibility": "private"}
    fetch.click(for_visitors(fetch_published), None, changed, show_progress_on=said, **alone)
    back.click(for_visitors(go_back), None, changed, **QUICK)


def _choice_in_words(service: DemoService, may_change: bool) -> str:
    """Sentences on the models that the tabs begin with, and on how to change them, as HTML."""
    published = [task for task in Task if service.defaults.of(task).hub_id]
    if not published:
        begin = _("The tabs begin with the bundled models.")
    elif len(published) < len(Task):
        begin = _("The tabs begin with the published models, as far as they are on this host’s disk.")
    else:
        begin = _("The tabs begin with the published models.")
    more = ""
    if not may_change:
        more = _(_CHOSEN_BY_HOST)
    elif not published:
        more = _(
            "One press downloads {models} ({size:.1f} GB), checks and prepares them, and makes every tab begin with "
            "its own. Keep this page open meanwhile; if it breaks off, press again, and it goes on from there.",
            models=_STANDARD_NAMES,
            size=_STANDARD_GB,
        )
    return f'<div class="prose-page"><p>{begin} {more}</p></div>'


def _models() -> str:
    return "".join(
        f"<h3>{_(title)}</h3><ul class='models'>{''.join(map(_model, checkpoints_for(task)))}</ul>"
        for task, title in TASK_TITLES.items()
        if task.answered_by is task
    )


def _model(checkpoint: Checkpoint) -> str:
    if not checkpoint.hub_id:
        place = _("bundled")
    else:
        place = _("{model}, {size:,} MB", model=html.escape(checkpoint.hub_id), size=checkpoint.size_mb)
    facts = f"{html.escape(_(checkpoint.family))} · {place} · {html.escape(_(checkpoint.license))}"
    return (
        f"<li><strong>{html.escape(_(checkpoint.title))}</strong> <span class='quiet'>{facts}</span>"
        f"<br>{html.escape(_(checkpoint.summary))}</li>"
    )
