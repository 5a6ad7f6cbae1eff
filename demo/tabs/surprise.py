"""Surprise: how well a language model predicts every token of a text, and two texts side by side."""

import html
import math

import gradio as gr

from demo.language import N_, _, ngettext, number
from demo.log.export import likelier
from demo.log.run import Run
from demo.plots.reading import percent
from demo.runs import DemoService
from demo.tabs.columns import left_column, result
from demo.tabs.task_tab import TaskTab
from demo.theme import script
from demo.widgets.bars import direction
from demo.widgets.glossary import with_terms
from demo.widgets.tables import fold_out, named, table
from models.outputs.base import TaskOutput
from models.outputs.surprise import MeasuredText, SurpriseOutput, TokenSurprise
from models.registry import REGISTRY, Task
from models.tasks.surprise import LONGEST_PSEUDO

_LEAD = N_(
    "A language model gives every next token a probability, so it can measure a text: the less it expected one, the "
    "more bits of surprise. Scrambled words, errors and rare names stand out; what a model wrote itself hardly does."
)
_HINT = N_("Write a text, and another to compare it with if you like. <span class='keys'>Enter measures them.</span>")
_RANKS = (10, 100, 1000)
_STEP_OF_RANK = (0, 2, 4, 7)
_BITS_A_STEP, _STEPS = 2, 7
_MOST_ROWS = 200
_POINT = N_("Point at a token, tap it, or walk with the arrow keys.")


def create_surprise_tab(service: DemoService, session: gr.BrowserState) -> TaskTab:
    """The tab with its events."""
    tab = TaskTab(service, session, Task.SURPRISE, lambda run, output, _step: draw_answer(run, output))
    with tab.page():
        with left_column():
            with tab.asking(_("Measure it"), _(_HINT)):
                tab.create_text("text")
                tab.create_text("other", _("Compare with (may stay empty)"), max_lines=4)
            with tab.settings(_(_LEAD)):
                tab.create_picker()
        with result():
            tab.create_answer(_("Surprise"), script("surprise.js"))
            tab.create_reader()
    tab.connect()
    return tab


def draw_answer(run: Run, output: TaskOutput) -> str:
    """The text coloured by the ranks of its tokens, its measures, and the other text beside it."""
    assert isinstance(output, SurpriseOutput)  # noqa: S101
    texts = [(str(run.fields["text"]), output.text)]
    if output.other:
        texts.append((str(run.fields["other"]), output.other))
    names = (_("First text"), _("Second text")) if output.other else (_("The text"),)
    surprise = _("{bits:.1f} bits of surprise per token", bits=output.text.bits_per_token)
    headline = likelier(output) if output.other else surprise
    shown = "".join(
        f"<section>{f'<h4>{name}</h4>' if output.other else ''}{_coloured(text, measured, name)}"
        f"{_numbers(measured)}</section>"
        for name, (text, measured) in zip(names, texts, strict=True)
    )
    folds = "".join(
        _step_by_step(measured, _("{text}: step by step", text=name) if output.other else _("Step by step"))
        for name, (_text, measured) in zip(names, texts, strict=True)
    )
    most = _most_surprising(output.text)
    columns = f'<div class="columns">{shown}</div>' if output.other else shown
    return (
        f'<div class="surprises"><h3>{headline}</h3>{_switch()}{columns}'
        f'<p class="read-out pointed" role="status">{html.escape(said(most))}</p>'
        f"{_counted(output)}{folds}</div>"
    )


def _switch() -> str:
    """The switch between colours for ranks and for bits, with the legend of each."""
    names = [*(_("top {most:,}", most=most) for most in _RANKS), _("beyond")]
    ranks = "".join(
        f'<span class="token" data-rank="{place}" data-step="{step}">{name}</span>'
        for place, (step, name) in enumerate(zip(_STEP_OF_RANK, names, strict=True))
    )
    steps = "".join(f'<i data-step="{step}"></i>' for step in range(_STEPS + 1))
    most = _("{most} bits or more", most=_BITS_A_STEP * _STEPS)
    return (
        f'<div class="sentence-head"><p class="quiet">{_(_POINT)}</p>'
        f'<div class="switch" role="group" aria-label="{_("What the colours show")}">'
        f'<button type="button" data-show="rank" aria-pressed="true">{_("rank")}</button>'
        f'<button type="button" data-show="bits" aria-pressed="false">{_("bits")}</button></div>'
        f'<p class="legend of-rank">{ranks}</p>'
        f'<p class="legend of-bits" hidden><span>0</span><span aria-hidden="true">{steps}</span>'
        f"<span>{most}</span></p></div>"
    )


def _coloured(text: str, measured: MeasuredText, name: str) -> str:
    """The text with its tokens as a radio group; one that is only some bytes of a character joins the next."""
    shown, position = html.escape(text[: measured.tokens[0].token.start]), max(0, measured.tokens[0].token.start)
    chosen = _most_surprising(measured)
    for each in measured.tokens:
        chunk = text[position : each.token.end]
        position = max(position, each.token.end)
        if chunk:
            space = chunk[: len(chunk) - len(chunk.lstrip(" "))] if chunk.strip() else ""
            shown += html.escape(space) + _token(chunk[len(space) :], each, each is chosen)
    return (
        f'<p class="written" dir="{direction(text)}"><span role="radiogroup" '
        f'aria-label="{_("{text}: choose a token", text=name)}">{shown}{html.escape(text[position:])}</span></p>'
    )


def _most_surprising(measured: MeasuredText) -> TokenSurprise:
    return max(measured.tokens, key=lambda each: each.bits)


def _token(chunk: str, each: TokenSurprise, chosen: bool) -> str:
    rank = sum(each.rank > most for most in _RANKS)
    bits = min(_STEPS, int(each.bits / _BITS_A_STEP))
    blank = "" if chunk.strip() else f' aria-label="{_("a blank or a line break")}"'
    return (
        f'<span class="token" role="radio" aria-checked="{str(chosen).lower()}" tabindex="{0 if chosen else -1}"{blank}'
        f' data-rank="{rank}" data-bits="{bits}" data-step="{_STEP_OF_RANK[rank]}" '
        f'data-said="{html.escape(said(each))}">{html.escape(chunk)}</span>'
    )


def said(each: TokenSurprise) -> str:
    """Sentences on a token's probability, rank and bits, and on the likeliest tokens in its place."""
    rather = ", ".join(
        _("“{word}” {share}", word=other.text.strip() or other.text, share=percent(other.score))
        for other in each.rather
    )
    return _(
        "“{word}” has {share} of the probability: rank {rank:,}, {bits:.1f} bits. Likeliest there: {others}.",
        word=each.token.text.strip() or each.token.text,
        share=percent(each.probability),
        rank=each.rank,
        bits=each.bits,
        others=rather,
    )


def _numbers(measured: MeasuredText) -> str:
    """The cross-entropy, perplexity, probability of the whole text, and pseudo-perplexity, as a list."""
    pseudo = measured.pseudo_perplexity
    per_token = _("{bits:.2f} bits per token", bits=measured.bits_per_token)
    whole = _("{bits:.1f} bits: {probability}", bits=measured.bits, probability=_power(measured))
    beside = _over(pseudo.value, pseudo.tokens) if pseudo else _("left out")
    return with_terms(
        f'<dl class="numbers"><dt><em>{_("Cross-entropy")}</em></dt><dd>{per_token}</dd>'
        f"<dt><em>{_('Perplexity')}</em></dt><dd>{_over(measured.perplexity, len(measured.tokens))}</dd>"
        f"<dt>{_('Whole text')}</dt><dd>{whole}</dd>"
        f"<dt><em>{_('Pseudo-perplexity')}</em></dt><dd>{beside}</dd></dl>"
    )


def _over(perplexity: float, tokens: int) -> str:
    return ngettext(
        "{perplexity:,.1f} over {count} token", "{perplexity:,.1f} over {count} tokens", tokens, perplexity=perplexity
    )


def _power(measured: MeasuredText) -> str:
    """The probability of the whole text as a power of ten."""
    exponent = measured.log_probability / math.log(10)
    whole = math.floor(exponent)
    return f"{number(10 ** (exponent - whole), '.1f')} × 10<sup>{str(whole).replace('-', '−')}</sup>"


def _counted(output: SurpriseOutput) -> str:
    """Notes on which tokens are counted, and with how much context."""
    notes = [
        _("Every token counts; before the first one the model reads its start token, {start}.", start=output.start)
        if output.start
        else _("This model has no start token, so the first token is not counted: nothing stands before it.")
    ]
    longest = max(len(each.tokens) for each in (output.text, output.other) if each)
    if longest > output.window:
        notes.append(
            _(
                "The model reads {window:,} tokens at once; a longer text was read in parts that overlap by half, so "
                "that after the first part every token has at least half of that before it.",
                window=output.window,
            )
        )
    by, measured = REGISTRY[output.masked.name].title, [each for each in (output.text, output.other) if each]
    notes.append(
        _(
            "The pseudo-perplexity is by {model}, which sees both sides of each of its own tokens, masked in turn.",
            model=by,
        )
    )
    if not all(each.pseudo_perplexity for each in measured):
        notes.append(
            _("It takes a pass for each, so longer texts than {most} of them are left out.", most=LONGEST_PSEUDO)
        )
    return f'<p class="quiet">{html.escape(" ".join(notes))}</p>'


def _step_by_step(measured: MeasuredText, summary: str) -> str:
    """How the tokens' bits add up to cross-entropy and perplexity, as a table folded under the line `summary`."""
    total, rows = 0.0, []
    for each in measured.tokens[:_MOST_ROWS]:
        total += each.bits
        numbers = (number(each.rank), number(each.bits, ".2f"), number(total, ".2f"))
        rows.append([named(each.token), percent(each.probability), *numbers])
    said = ngettext(
        "A product of probabilities is a sum of bits: {bits:.2f} bits in all, divided by {count} token {mean:.2f} "
        "(cross-entropy); 2 to the power of that is the perplexity, {perplexity:,.1f}.",
        "A product of probabilities is a sum of bits: {bits:.2f} bits in all, divided by {count} tokens {mean:.2f} "
        "(cross-entropy); 2 to the power of that is the perplexity, {perplexity:,.1f}.",
        len(measured.tokens),
        bits=measured.bits,
        mean=measured.bits_per_token,
        perplexity=measured.perplexity,
    )
    if len(measured.tokens) > _MOST_ROWS:
        said += " " + _("These are the first {most} of them.", most=_MOST_ROWS)
    heads = (_("Token"), _("Probability p"), _("Rank"), _("−log₂ p (bits)"), _("Sum of bits"))
    note = f'<p class="quiet">{said}</p>'
    return fold_out(summary, table(heads, rows), _("Probability, rank and bits of each token"), note)
