"""About: what this is, how to read it, what is kept, and the models with their licences."""

import html

import gradio as gr

from demo.limits import limits_in_words
from demo.settings import Settings
from demo.tabs.history import UNKEPT
from demo.tabs.task_tab import lead
from demo.widgets.glossary import glossary_section
from demo.widgets.runs import TASK_TITLES, kept_for
from models.registry import Checkpoint, checkpoints_for

_LEAD = "Type a text, get a Transformer’s answer, and see what the model looked at."
_TEXT = """
<h2>How to read the pictures</h2>
<p>A Transformer cuts a text into <em>tokens</em>, words or pieces of words (“##” marks a piece that goes on). It then
works on all of them in <em>layers</em>. In each layer several <em>heads</em> let every token take in some of the
others: the shares it gives out are its <em>attention</em>, and they add up to 100&nbsp;%.</p>
<p>In a heatmap, a row is the token that looks (the papers say <em>query</em>) and a column the token it looks at
(<em>key</em>). The stronger the colour of a cell, the larger the share. “Mean” averages over layers or heads. Hatched
cells are <em>masked</em>: there the model may not look.</p>
<p>Attention is not an explanation. It shows what a step of the computation mixed together; much else happens between
that and the answer, and a model can reach the same answer with other attention.</p>
<h2>How to read the numbers</h2>
<p>A percentage is the share of the probability that this model gives to something, out of everything it could have
said. It is not a promise that it is true.</p>
"""
_KEPT = """
<h2 id="kept">What is kept</h2>
<p>Each run is kept so that History can show it: its text, settings, answer, model and time, under a random number that
only this browser knows. No address and no name is kept. Runs are kept {kept_for}.</p>
<p>In History you can delete one run or all of them at any time. The switch “{switch}” there turns keeping off: nothing
that you type from then on is written down, and within an hour it has left this host’s memory too.</p>
"""
_MODELS = """
<h2>The models</h2>
<p>The first of each list is part of this page and needs no network. The others are published by their makers and are
downloaded when they are first chosen.</p>
"""


def create_about_tab(settings: Settings) -> None:
    """The tab; nothing on it changes."""
    with gr.Tab("About", id="about", elem_id="tab-about", alignment="right"):
        lead(_LEAD)
        kept = _KEPT.format(kept_for=kept_for(settings), switch=UNKEPT)
        limits = "".join(f"<li>{sentence}</li>" for sentence in limits_in_words(settings))
        parts = (_TEXT, kept, f"<h2>Limits</h2><ul>{limits}</ul>", _MODELS, _models(), glossary_section())
        gr.HTML(f'<div class="prose-page">{"".join(parts)}</div>')


def _models() -> str:
    return "".join(
        f"<h3>{title}</h3><ul class='models'>{''.join(map(_model, checkpoints_for(task)))}</ul>"
        for task, title in TASK_TITLES.items()
    )


def _model(checkpoint: Checkpoint) -> str:
    place = "bundled" if not checkpoint.hub_id else f"{html.escape(checkpoint.hub_id)}, {checkpoint.size_mb:,} MB"
    return (
        f"<li><strong>{html.escape(checkpoint.title)}</strong> <span class='quiet'>{html.escape(checkpoint.family)} · "
        f"{place} · {html.escape(checkpoint.license)}</span><br>{html.escape(checkpoint.summary)}</li>"
    )
