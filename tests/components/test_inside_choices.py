"""Layer, head and word keep what somebody has chosen since, and are set right where that is not to be had."""

from dataclasses import replace

import gradio as gr
import pytest

from demo.recorded import inside_examples
from demo.settings import Settings
from demo.walk.step import InsideControls, create_choices, value_of
from demo.walk.steps import STEPS
from demo.walk.view import Inside
from models.loading.store import ModelStore

REQUEST = inside_examples()[0].request


@pytest.fixture(scope="module")
def controls() -> InsideControls:
    with gr.Blocks():
        text, checkpoint = gr.Textbox(REQUEST.text), gr.Dropdown([REQUEST.checkpoint], value=REQUEST.checkpoint)
        return InsideControls(Inside(Settings(), ModelStore()), text, checkpoint, *create_choices(REQUEST, STEPS[0]))


def corrected(controls: InsideControls, layer: int, word: str) -> dict[str, object]:
    """What is sent back, by the labels of the controls, to somebody who asks for a layer and a word."""
    values = [REQUEST.text, REQUEST.checkpoint, layer, REQUEST.head + 1, word]
    request, place = controls.inside.checked(controls.request("head", values))
    return {str(control.label): each for control, each in controls.corrected(request, place, values).items()}


def test_what_is_there_already_is_not_sent(controls: InsideControls) -> None:
    sent = corrected(controls, REQUEST.layer + 1, value_of(REQUEST))
    assert "Word" not in sent
    assert "value" not in sent["Layer"] and "value" not in sent["Head"]
    assert sent["Layer"]["maximum"] > 1


def test_what_is_not_to_be_had_is_set_right(controls: InsideControls) -> None:
    sent = corrected(controls, 99, value_of(replace(REQUEST, text="Another text.")))
    assert sent["Layer"]["value"] == sent["Layer"]["maximum"] < 99
    assert sent["Word"]["value"] in [value for _, value in sent["Word"]["choices"]]
