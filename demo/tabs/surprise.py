"""Surprise: how well a language model foresees every token of a text, and two texts side by side."""

import html
import math

import gradio as gr

from demo.log.export import likelier
from demo.log.run import Run
from demo.plots.reading import percent
from demo.runs import DemoService
from demo.tabs.task_tab import TaskTab, left_column, result
from demo.theme import script
from demo.widgets.bars import direction
from demo.widgets.glossary import with_terms
from demo.widgets.tables import fold_out, named, table
from models.outputs.base import TaskOutput
from models.outputs.surprise import MeasuredText, SurpriseOutput, TokenSurprise
from models.registry import REGISTRY, Task
from models.tasks.surprise import LONGEST_PSEUDO

_LEAD = (
    "A language model gives every next token a probability, so it can measure a text: the less it expected one, the "
    "more bits of surprise. Scrambled words, errors and rare names stand out; what a model wrote itself hardly does."
)
_HINT = "Write a text, and another to compare it with if you like. <span class='keys'>Enter measures them.</span>"
_RANKS = ((10, "top 10"), (100, "top 100"), (1000, "top 1,000"))
_BEYOND = "beyond"
_STEP_OF_RANK = (0, 2, 4, 7)
_BITS_A_STEP, _STEPS = 2, 7
_MOST_ROWS = 200
_POINT = "Point at a token, tap it, or walk with the arrow keys."


def create_surprise_tab(service: DemoService, session: gr.BrowserState) -> TaskTab:
    """The tab with its events."""
    tab = TaskTab(service, session, Task.SURPRISE, lambda run, output, _step: draw_answer(run, output))
    with tab.page():
        with left_column():
            with tab.asking("Measure it", _HINT):
                tab.create_text("text")
                tab.create_text("other", "Compare with (may stay empty)", max_lines=4)
            with tab.settings(_LEAD):
                tab.create_picker()
        with result():
            tab.create_answer("Surprise", script("surprise.js"))
            tab.create_reader()
    tab.connect()
    return tab


def draw_answer(run: Run, output: TaskOutput) -> str:
    """The text in the colours of its ranks, its numbers, and the other text beside it."""
    assert isinstance(output, SurpriseOutput)  # noqa: S101
    texts = [(str(run.fields["text"]), output.text)]
    if output.other:
        texts.append((str(run.fields["other"]), output.other))
    names = ("First text", "Second text") if output.other else ("The text",)
    headline = likelier(output) if output.other else f"{_bits(output.text.bits_per_token)} of surprise per token"
    shown = "".join(
        f"<section>{f'<h4>{name}</h4>' if output.other else ''}{_coloured(text, measured, name)}"
        f"{_numbers(measured)}</section>"
        for name, (text, measured) in zip(names, texts, strict=True)
    )
    folds = "".join(
        _step_by_step(measured, f"{name}: s" if output.other else "S")
        for name, (_, measured) in zip(names, texts, strict=True)
    )
    most = _most_surprising(output.text)
    columns = f'<div class="columns">{shown}</div>' if output.other else shown
    return (
        f'<div class="surprises"><h3>{headline}</h3>{_switch()}{columns}'
        f'<p class="read-out pointed" role="status">{html.escape(said(most))}</p>'
        f"{_counted(output)}{folds}</div>"
    )


def _switch() -> str:
    """What the colours show: ranks, or bits, each with its legend."""
    ranks = "".join(
        f'<span class="token" data-rank="{place}" data-step="{step}">{name}</span>'
        for place, (step, name) in enumerate(zip(_STEP_OF_RANK, (*(name for _, name in _RANKS), _BEYOND), strict=True))
    )
    steps = "".join(f'<i data-step="{step}"></i>' for step in range(_STEPS + 1))
    most = _BITS_A_STEP * _STEPS
    return (
        f'<div class="sentence-head"><p class="quiet">{_POINT}</p>'
        '<div class="switch" role="group" aria-label="What the colours show">'
        '<button type="button" data-show="rank" aria-pressed="true">rank</button>'
        '<button type="button" data-show="bits" aria-pressed="false">bits</button></div>'
        f'<p class="legend of-rank">{ranks}</p>'
        f'<p class="legend of-bits" hidden><span>0</span><span aria-hidden="true">{steps}</span>'
        f"<span>{most} bits or more</span></p></div>"
    )


def _coloured(text: str, measured: MeasuredText, name: str) -> str:
    """The text, its tokens to choose among; one that is only some bytes of a character stands with the next."""
    shown, position = html.escape(text[: measured.tokens[0].token.start]), max(0, measured.tokens[0].token.start)
    chosen = _most_surprising(measured)
    for each in measured.tokens:
        chunk = text[position : each.token.end]
        position = max(position, each.token.end)
        if chunk:
            space = chunk[: len(chunk) - len(chunk.lstrip(" "))] if chunk.strip() else ""
            shown += html.escape(space) + _token(chunk[len(space) :], each, each is chosen)
    return (
        f'<p class="written" dir="{direction(text)}"><span role="radiogroup" aria-label="{name}: choose '
        f'a token">{shown}{html.escape(text[position:])}</span></p>'
    )


def _most_surprising(measured: MeasuredText) -> TokenSurprise:
    return max(measured.tokens, key=lambda each: each.bits)


def _token(chunk: str, each: TokenSurprise, chosen: bool) -> str:
    rank = sum(each.rank > most for most, _ in _RANKS)
    bits = min(_STEPS, int(each.bits / _BITS_A_STEP))
    blank = "" if chunk.strip() else ' aria-label="a blank or a line break"'
    return (
        f'<span class="token" role="radio" aria-checked="{str(chosen).lower()}" tabindex="{0 if chosen else -1}"{blank}'
        f' data-rank="{rank}" data-bits="{bits}" data-step="{_STEP_OF_RANK[rank]}" '
        f'data-said="{html.escape(said(each))}">{html.escape(chunk)}</span>'
    )


def said(each: TokenSurprise) -> str:
    """A token's numbers in a sentence or two, and what the model would rather have had."""
    rather = ", ".join(f"“{other.text.strip() or other.text}” {percent(other.score)}" for other in each.rather)
    return (
        f"“{each.token.text.strip() or each.token.text}” has {percent(each.probability)} of the probability: rank "
        f"{each.rank:,}, {_bits(each.bits)}. Likeliest there: {rather}."
    )


def _bits(bits: float) -> str:
    return f"{bits:.1f} bits"


def _numbers(measured: MeasuredText) -> str:
    """Perplexity and the probability of the whole, and pseudo-perplexity beside."""
    pseudo = measured.pseudo_perplexity
    beside = f"{pseudo.value:,.1f} over {pseudo.tokens} tokens" if pseudo else "left out"
    return with_terms(
        f'<dl class="numbers"><dt><em>Cross-entropy</em></dt><dd>{measured.bits_per_token:.2f} bits per token</dd>'
        f"<dt><em>Perplexity</em></dt><dd>{measured.perplexity:,.1f} over {len(measured.tokens)} tokens</dd>"
        f"<dt>Whole text</dt><dd>{_bits(measured.bits)}: {_power(measured)}</dd>"
        f"<dt><em>Pseudo-perplexity</em></dt><dd>{beside}</dd></dl>"
    )


def _power(measured: MeasuredText) -> str:
    """The probability of the whole text as a power of ten."""
    exponent = measured.log_probability / math.log(10)
    whole = math.floor(exponent)
    return f"{10 ** (exponent - whole):.1f} × 10<sup>{str(whole).replace('-', '−')}</sup>"


def _counted(output: SurpriseOutput) -> str:
    """What is counted, and with how much before it."""
    notes = [
        f"Every token counts; before the first one the model reads its start token, {output.start}."
        if output.start
        else "This model has no start token, so the first token is not counted: nothing stands before it."
    ]
    longest = max(len(each.tokens) for each in (output.text, output.other) if each)
    if longest > output.window:
        notes.append(
            f"The model reads {output.window:,} tokens at once; a longer text was read in parts that overlap by "
            "half, so that after the first part every token has at least half of that before it."
        )
    by, measured = REGISTRY[output.masked.name].title, [each for each in (output.text, output.other) if each]
    notes.append(f"The pseudo-perplexity is by {by}, which sees both sides of each of its own tokens, masked in turn.")
    if not all(each.pseudo_perplexity for each in measured):
        notes.append(f"It takes a pass for each, so longer texts than {LONGEST_PSEUDO} of them are left out.")
    return f'<p class="quiet">{html.escape(" ".join(notes))}</p>'


def _step_by_step(measured: MeasuredText, name: str) -> str:
    """The sum behind the numbers, folded away."""
    total, rows = 0.0, []
    for each in measured.tokens[:_MOST_ROWS]:
        total += each.bits
        rows.append(
            [named(each.token), percent(each.probability), f"{each.rank:,}", f"{each.bits:.2f}", f"{total:.2f}"]
        )
    count, left = len(measured.tokens), len(measured.tokens) - _MOST_ROWS
    more = f" These are the first {_MOST_ROWS} of them." if left > 0 else ""
    note = (
        f'<p class="quiet">A product of probabilities is a sum of bits: {measured.bits:.2f} bits in all, divided by '
        f"{count} tokens {measured.bits_per_token:.2f} (cross-entropy); 2 to the power of that is the perplexity, "
        f"{measured.perplexity:,.1f}.{more}</p>"
    )
    heads = ("Token", "Probability p", "Rank", "−log₂ p (bits)", "Sum of bits")
    return fold_out(f"{name}tep by step", table(heads, rows), "Probability, rank and bits of each token", note)
