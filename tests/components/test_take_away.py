"""What visitors take away holds the numbers on screen and nothing that a spreadsheet or a browser would run."""

import base64
import csv
import hashlib
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from PIL import Image

from demo.plots.cells import attention_svg
from demo.plots.heatmap import attention_heatmap
from demo.plots.reading import read_out, scale_top
from demo.plots.roles import role_of
from demo.plots.view import AttentionView, shown, view_of
from demo.reader.export import Taken, as_csv, as_json, as_page
from demo.recorded import recorded
from demo.runs import Finished
from demo.sharing import Place
from models.outputs import Token
from models.registry import Task
from tests.plots.made_up import attention_over, tokens_of

NASTY = '</script><script>alert(1)</script><img src=x onerror="alert(1)">'


def taken(view: AttentionView, task: Task = Task.SENTIMENT, **changes: object) -> Taken:
    example = recorded(task)
    run = replace(example.run, id="0123456789abcdef", **changes)
    finished = Finished(run, example.output, example.source)
    return Taken(finished, view, Place(view.kind, view.how, view.layer + 1, max(1, view.head + 1)), role_of(view))


@pytest.fixture
def causal() -> AttentionView:
    view = view_of({"decoder": attention_over(tokens_of("once there was a fox"), causal=True)}, layer=1, head=1)
    return shown(view)


def table(text: str) -> tuple[dict[str, str], list[list[str]]]:
    """The lines that say what made a CSV file, by name, and its table."""
    lines = list(csv.reader(io.StringIO(text, newline="")))
    gap = lines.index([])
    return dict(lines[:gap]), lines[gap + 1 :]


def test_both_files_hold_the_very_numbers_of_the_heatmap(causal: AttentionView) -> None:
    on_screen = np.asarray(attention_heatmap(causal).data[0].z, dtype=np.float32)
    _, (_, *rows) = table(as_csv(taken(causal)))
    from_csv = np.array([[float(cell or "nan") for cell in row[1:]] for row in rows], dtype=np.float32)
    np.testing.assert_array_equal(from_csv, on_screen)
    weights = json.loads(as_json(taken(causal)))["weights"]
    from_json = np.array([[np.nan if cell is None else cell for cell in row] for row in weights], dtype=np.float32)
    np.testing.assert_array_equal(from_json, on_screen)
    assert np.isnan(on_screen).any()


def test_words_and_hidden_specials_are_taken_as_they_are_shown() -> None:
    whole = view_of({"encoder": attention_over(tokens_of("[CLS] un ##put ##down ##able [SEP]"))})
    view = shown(whole, words=True, specials=False)
    document = json.loads(as_json(taken(view)))
    assert document["query_tokens"] == ["[CLS]", "unputdownable", "[SEP]"]
    assert document["key_tokens"] == ["unputdownable", "not shown"]
    assert sum(document["weights"][0]) == pytest.approx(1, abs=1e-6)
    _, (head, _, row, _) = table(as_csv(taken(view)))
    assert head[1:] == document["key_tokens"]
    assert row[0] == "unputdownable"


def test_both_files_say_what_made_the_numbers(causal: AttentionView) -> None:
    run = recorded(Task.SENTIMENT).run
    made_by, _ = table(as_csv(taken(causal)))
    document = json.loads(as_json(taken(causal)))
    assert {name: "" if document[name] is None else str(document[name]) for name in made_by} == made_by
    expected = {"run_id": "0123456789abcdef", "checkpoint": run.checkpoint, "revision": run.revision}
    expected |= {"license": run.license, "kind": "decoder", "how": "head", "layer": 2, "head": 2}
    assert {name: document[name] for name in expected} == expected
    assert document["read_out"] == read_out(causal)


@pytest.mark.parametrize("formula", ["=1+1", "+cmd", "-2", "@SUM(A1)", "\t=1", " =HYPERLINK(1)"])
def test_no_cell_is_a_formula(formula: str) -> None:
    tokens = (Token(formula, formula, 1), Token("b", "b", 2))
    for line in csv.reader(io.StringIO(as_csv(taken(view_of({"encoder": attention_over(tokens)}))), newline="")):
        assert not any(cell.strip().startswith(("=", "+", "-", "@", "\t", "\r")) for cell in line), line


class Elements(HTMLParser):
    """Every element of a page with its attributes, and the text of its scripts."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.scripts: list[str] = []
        self._in_script = False
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))
        self._in_script = tag == "script"

    def handle_data(self, data: str) -> None:
        if self._in_script:
            self.scripts.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False


@pytest.mark.parametrize("task", Task)
def test_the_page_needs_nothing_from_outside_and_allows_its_own_script_alone(task: Task) -> None:
    page = as_page(taken(shown(recorded(task).view), task))
    elements = Elements(page)
    assert not {tag for tag, _ in elements.found} & {"link", "iframe", "object", "embed", "base", "form"}
    for _, attributes in elements.found:
        assert not [name for name in attributes if name.startswith("on")]
        for name in ("src", "href", "xlink:href", "action", "poster"):
            assert attributes.get(name, "data:").startswith("data:"), attributes
    assert not re.search(r"@import|url\(", page)
    (script,) = elements.scripts
    (policy,) = [each["content"] for _, each in elements.found if each.get("http-equiv") == "Content-Security-Policy"]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")


@pytest.mark.parametrize("task", Task)
def test_the_page_says_what_was_asked_what_came_out_and_what_made_it(task: Task) -> None:
    run = recorded(task).run
    page = as_page(taken(shown(recorded(task).view), task))
    text = re.sub(r"<[^>]+>", " ", page)
    for said in (run.revision, run.license, "0123456789abcdef", f"{run.created_utc:%d %b %Y}"):
        assert said in text
    assert "Attention is not an explanation" in text
    assert "The same as a table" in text
    assert run.session_id == "" or run.session_id not in page


def test_no_text_of_a_visitor_is_markup_in_the_page() -> None:
    tokens = (Token(NASTY, NASTY, 1), Token("b", "b", 2))
    view = view_of({"encoder": attention_over(tokens)})
    page = as_page(taken(view, inputs={"text": NASTY}, parameters={NASTY: NASTY}, checkpoint=NASTY, revision=NASTY))
    elements = Elements(page)
    assert len(elements.scripts) == 1
    assert "img" not in {tag for tag, _ in elements.found}


def test_the_pictures_cells_have_the_weights_as_their_ink_and_masked_ones_none(causal: AttentionView) -> None:
    svg = attention_svg(causal)
    (picture,) = re.findall(r'href="data:image/png;base64,([^"]+)"', svg)
    alpha = np.asarray(Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGBA"))[..., 3]
    expected = np.clip(np.where(causal.masked, 0, causal.weights) / scale_top(causal), 0, 1)
    np.testing.assert_allclose(alpha / 255, expected, atol=1 / 255)
    assert 'class="hatching"' in svg
    assert svg.count("<text") == sum(causal.weights.shape)
