"""Text from visitors and from models is never markup, script, formula or a new line, wherever it stands."""

import csv
import io
import json
import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import gradio as gr
import plotly.graph_objects as go
import pytest

from demo.events import for_callers, for_visitors
from demo.log.export import as_csv, as_json
from demo.log.run import Run
from demo.plots.decode_tree import decode_tree_figure
from demo.plots.heatmap import attention_heatmap, attention_svg
from demo.plots.spans import span_probabilities
from demo.plots.view import AttentionView, view_of
from demo.plots.walk import norms_figure, scores_matrix, shares_matrix
from demo.reader.attribution import attribution_text
from demo.reader.export import as_page
from demo.reader.sentence import attention_table, coloured_sentence, said
from demo.tabs.fill_mask import draw_answer
from demo.walk.attention import head_picture, head_said, head_table
from demo.walk.input import input_picture, tokens_picture
from demo.walk.layers import lens_picture, lens_said
from demo.web.host import table as host_table
from demo.web.host_log import PlainFormatter, json_formatter
from demo.widgets.bars import bars
from demo.widgets.chips import token_chips
from demo.widgets.notice import noticed
from demo.widgets.runs import run_header, run_list
from demo.writing.table import step_table
from demo.writing.text import forked_text, growing_text, written_text
from demo.writing.tree import tree_table, tree_text
from models.errors import InputError
from models.inside.outputs import Guess, Look, Piece, TokenizedText
from models.outputs.attention import Attribution
from models.outputs.base import Prediction, Token
from models.outputs.encoders import FillMaskOutput, QuestionAnsweringOutput, WordStanding
from models.outputs.writing import Alternative, CompletionOutput, DecodeTree, GeneratedToken, StrategyText, TreeNode
from tests.log.runs import failed_run, finished_run
from tests.plots.made_up import CHECKPOINT, attention_over, made_up_look, taken

_SCRIPTS = [
    "<script>alert(1)</script>",
    "<ScRiPt src=//evil.example/a.js></sCrIpT>",
    "<script\x0c>alert(1)</script\n>",
    "<img src=x onerror=alert(1)>",
    "<img/src='x'/onerror=alert`1`>",
    "<svg onload=alert(1)>",
    "<svg><script>alert&#40;1)</script></svg>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    "<svg><a xlink:href='javascript:alert(1)'><text y=20>a</text></a></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<iframe src=javascript:alert(1)>",
    "<object data=javascript:alert(1)>",
    "<embed src=//evil.example>",
    "<body onload=alert(1)>",
    "<details open ontoggle=alert(1)>",
    "<video><source onerror=alert(1)></video>",
    "<audio src=x onerror=alert(1)>",
    "<input autofocus onfocus=alert(1)>",
    "<select autofocus onfocus=alert(1)>",
    "<form action=javascript:alert(1)><button>a</button></form>",
    "<button formaction=javascript:alert(1)>a</button>",
    "<a href='javascript:alert(1)'>a</a>",
    "<a href='data:text/html,<script>alert(1)</script>'>a</a>",
    "<base href=//evil.example/>",
    "<link rel=stylesheet href=//evil.example/a.css>",
    "<link rel=prefetch href=//evil.example/>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<style>@import '//evil.example/a.css'</style>",
    "<style>*{background:url(//evil.example/a)}</style>",
    "<template><script>alert(1)</script></template>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<!--><img src=x onerror=alert(1)>-->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<?xml version='1.0'?><x onclick=alert(1)>",
    "<x contenteditable onblur=alert(1)>a</x>",
    "<marquee onstart=alert(1)>",
    "<gradio-app src=//evil.example>",
    "<b>bold</b><i>italic</i><sub>a</sub><sup>b</sup><br>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;img src=x onerror=alert(1)&#62;",
    r"\u003cscript\u003ealert(1)\u003c/script\u003e",
    "${alert(1)} {{constructor.constructor('alert(1)')()}} <%= 1 %>",
    "$\\href{javascript:alert(1)}{a}$ $$\\text{a}$$",
    "[a](javascript:alert(1)) ![a](x)",
    "=cmd|' /C calc'!A0",
    '=HYPERLINK("https://evil.example","a")',
    "+1+1 @SUM(A1) -2+3",
    "\t=1+1",
    "a\n2026 error forged\r\x1b[31m\u2028\u2029\u202e",
]
_WRAPPINGS = ("{}", '" autofocus onfocus=alert(1) x="{}', "'>{}", "</textarea></title></style></script>{}")

INJECTIONS = [wrapping.replace("{}", script) for wrapping in _WRAPPINGS for script in _SCRIPTS]
"""Texts that want to be markup, script, formula or a new line of a log."""

_OWN_MARKUP = re.compile(r"</?b>|<br>|<span style='font-size:\d+px'>|</span>|<extra></extra>")
PLAIN = "an ordinary text of some words\nin two lines"


def tokens(text: str) -> tuple[Token, ...]:
    """The text as one token, then word by word, as tokenizers may cut it."""
    return tuple(Token(each, each, number) for number, each in enumerate((text, *text.split(" "))))


def view(text: str) -> AttentionView:
    return view_of({"encoder": attention_over(tokens(text))}, "encoder", 0, 0)


def written(text: str) -> CompletionOutput:
    others = (Alternative(text, 0.25), Alternative(f" {text}", 0.125))
    generated = tuple(GeneratedToken(token, 0.5, others) for token in tokens(text))
    return CompletionOutput(CHECKPOINT, tokens(text), text, generated, (Prediction(text, -1.0),))


def filled(text: str) -> FillMaskOutput:
    predictions = ((Prediction(text, 0.5), Prediction("a", 0.25)),)
    standings = (WordStanding(text, (text, "##a"), None, None),)
    return FillMaskOutput(CHECKPOINT, tokens(text), predictions, (Prediction(text, 0.5),), standings)


def found(text: str) -> QuestionAnsweringOutput:
    read = tokens(text)
    shares = tuple(1 / len(read) for _ in read)
    return QuestionAnsweringOutput(CHECKPOINT, read, (), 0.5, shares, shares, 1)


def tree(text: str) -> DecodeTree:
    nodes = (
        TreeNode(0, -1, 0, "", 0, -0.5, 0.0, kept=True, weighed=True, ended=False, strategies=()),
        TreeNode(1, 0, 1, text, 1, -0.5, -0.5, kept=True, weighed=True, ended=False, strategies=("greedy",)),
        TreeNode(2, 0, 1, f" {text}", 2, -0.5, -0.7, kept=False, weighed=True, ended=False, strategies=()),
    )
    texts = tuple(StrategyText(strategy, text, (1,), -0.5) for strategy in ("greedy", "beam", "sample"))
    return DecodeTree(CHECKPOINT, text, 2, nodes, texts)


def look(text: str) -> Look:
    seen = made_up_look()
    assert seen.lens is not None
    guesses = (Guess(text, 0.75, 2.0), Guess(f" {text}", 0.25, 0.9))
    lens = replace(seen.lens, layers=tuple(replace(each, guesses=guesses) for each in seen.lens.layers))
    read = tuple(Token(each, each, number) for number, each in enumerate((text, f" {text}", "a")))
    return replace(seen, tokens=read, lens=lens)


def pieces(text: str) -> TokenizedText:
    read = tuple(Piece(each, 1, 0, True, False, 0, 1) for each in (text, f"##{text}", "[SEP]"))
    return TokenizedText("clearhead-minilm", "wordpiece", 3, read)


def attributed(text: str) -> Attribution:
    read = tokens(text)
    scores = tuple(0.1 * number for number, _ in enumerate(read, start=-1))
    return Attribution(read, scores, text, "integrated gradients", 0.0, 1.0, -1.0, text, 16)


def run(text: str) -> Run:
    known = finished_run("a" * 32)
    assert known.answer is not None
    answer = json.loads(json.dumps(known.answer).replace('"positive"', json.dumps(text)))
    return replace(known, inputs={"text": text}, checkpoint=text, revision=text, license=text, answer=answer)


PAGES: dict[str, Callable[[str], str]] = {
    "word chips": token_chips,
    "bars": lambda text: bars([Prediction(text, 0.5)], "Candidates"),
    "filled blanks": lambda text: draw_answer(filled(text)),
    "coloured sentence": lambda text: coloured_sentence(view(text)),
    "attention table": lambda text: attention_table(view(text)),
    "sentence under the picture": lambda text: said(view(text), None),
    "text as it grows": lambda text: growing_text(text, text),
    "written text": lambda text: written_text(text, written(text), 1),
    "tree in words": lambda text: tree_text(tree(text)) + tree_table(tree(text)),
    "step of a text": lambda text: step_table(1, text, written(text).generated, {"strategy": "sample"}),
    "text that parts": lambda text: forked_text(1, written(text), written(text), run(text)),
    "attribution": lambda text: attribution_text(attributed(text), 0.5),
    "picture to take away": lambda text: attention_svg(view(text)),
    "page to take away": lambda text: as_page(taken(view(text), inputs={"text": text}, revision=text)),
    "pieces": lambda text: tokens_picture((pieces(text),)) + input_picture(pieces(text)),
    "inside a head": lambda text: head_said(look(text)) + head_picture(look(text)) + head_table(look(text)),
    "guesses by layer": lambda text: lens_said(look(text), look(text).lens) + lens_picture(look(text).lens),
    "history": lambda text: run_list((run(text), replace(failed_run("b" * 32), error=text))),
    "run header": lambda text: run_header(run(text)),
    "notice": lambda text: str(noticed(text)["value"]),
    "toast": lambda text: _message(for_visitors, text),
    "host's page": lambda text: host_table("Runs", ("a",), [(text,)]),
}
FIGURES: dict[str, Callable[[str], go.Figure]] = {
    "heatmap": lambda text: attention_heatmap(view(text)),
    "answer's place": lambda text: span_probabilities(found(text)),
    "tree": lambda text: decode_tree_figure(tree(text)),
    "scores of a head": lambda text: scores_matrix(look(text)),
    "shares of a head": lambda text: shares_matrix(look(text)),
    "ways of the vectors": lambda text: norms_figure(look(text)),
}


def _message(speaking: Callable[..., Any], text: str) -> str:
    @speaking
    def refuse() -> None:
        raise InputError(text)

    with pytest.raises(gr.Error) as caught:
        refuse()
    return str(caught.value.message)


class Markup(HTMLParser):
    """What a browser would make of a page: the kinds of its elements with their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.kinds: set[tuple[str, ...]] = set()
        self.said = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.kinds.add((tag, *sorted(name for name, _ in attrs)))

    def handle_data(self, data: str) -> None:
        self.said += data

    def handle_comment(self, data: str) -> None:
        self.kinds.add(("a comment, a declaration or an instruction",))

    handle_decl = unknown_decl = handle_pi = handle_comment


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _strings(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _strings(each)


@pytest.mark.parametrize("name", PAGES)
def test_a_text_adds_no_element_and_no_attribute(name: str) -> None:
    show = PAGES[name]
    usual = Markup(show(PLAIN)).kinds | Markup(show("word")).kinds
    for text in INJECTIONS:
        assert Markup(show(text)).kinds <= usual, text


@pytest.mark.parametrize("name", ["text as it grows", "notice", "host's page", "run header"])
def test_a_text_is_shown_letter_by_letter(name: str) -> None:
    for text in INJECTIONS:
        # A browser reads a carriage return and a form feed as it likes; every letter is there.
        assert "".join(text.split()) in "".join(Markup(PAGES[name](text)).said.split())


@pytest.mark.parametrize("name", FIGURES)
def test_a_label_of_a_figure_is_no_markup_and_no_formula(name: str) -> None:
    usual = {each for each in _strings(json.loads(FIGURES[name](PLAIN).to_json())) if "<" in each}
    for text in INJECTIONS:
        for each in _strings(json.loads(FIGURES[name](text).to_json())):
            if each not in usual:
                # What plotly is told to do besides is the figure's own.
                said = _OWN_MARKUP.sub("", each)
                assert "<" not in said and "$" not in said, text


def test_a_cell_of_the_export_is_no_formula() -> None:
    runs = [run(text) for text in INJECTIONS]
    rows = list(csv.reader(io.StringIO(as_csv(runs))))
    assert len(rows) == len(runs) + 1
    for row in rows:
        assert not [cell for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert [each["inputs"]["text"] for each in json.loads(as_json(runs))] == INJECTIONS


def test_a_line_of_the_log_stays_one_line() -> None:
    for text in INJECTIONS:
        record = logging.LogRecord("demo", logging.ERROR, "", 1, "%s", (text,), None)
        for line in (PlainFormatter().format(record), json_formatter().format(record)):
            assert len(line.splitlines()) == 1 and "\x1b" not in line and "\u202e" not in line


def test_a_caller_reads_a_sentence_letter_by_letter() -> None:
    assert [_message(for_callers, text) for text in INJECTIONS] == INJECTIONS
