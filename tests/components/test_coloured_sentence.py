"""The coloured sentence holds every weight exactly enough, and its colours can be read."""

import base64
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from demo.plots.view import shown, view_of
from demo.reader.sentence import coloured_sentence
from demo.reader.table import attention_table
from demo.theme import ASSETS
from models.outputs import Token
from tests.plots.made_up import attention_over, tokens_of

STYLE = (ASSETS / "style.css").read_text(encoding="utf-8")


class Elements(HTMLParser):
    """The attributes of every element, by its tag."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))


def test_the_weights_come_back_to_four_digits_and_masks_as_masks() -> None:
    view = view_of({"decoder": attention_over(tokens_of("once there was a fox"), causal=True)}, layer=0, head=1)
    ((_, sentence), *_) = Elements(coloured_sentence(view)).found
    levels = np.frombuffer(base64.b64decode(sentence["data-weights"]), "<u2").reshape(view.weights.shape)
    np.testing.assert_array_equal(levels == 65535, view.masked)
    np.testing.assert_allclose(np.where(view.masked, 0, levels / 65534), view.weights, atol=1e-5)


def test_every_token_is_a_button_and_what_is_not_shown_is_none() -> None:
    view = shown(view_of({"encoder": attention_over(tokens_of("[CLS] so it goes [SEP]"))}), specials=False)
    words = [attributes for _, attributes in Elements(coloured_sentence(view)).found if "data-key" in attributes]
    assert [each["data-name"] for each in words] == ["so", "it", "goes", "not shown"]
    assert ["data-token" in each for each in words] == [True, True, True, False]
    assert [each["data-query"] for each in words[:3]] == ["1", "2", "3"], "[CLS] may still be looked from"


def test_words_from_right_to_left_are_laid_out_so_whatever_marks_a_model_puts_in_front() -> None:
    for text, way in (("[CLS] שלום עולם [SEP]", "rtl"), ("[CLS] one שלום [SEP]", "ltr")):
        markup = coloured_sentence(view_of({"encoder": attention_over(tokens_of(text))}))
        assert f'<div class="words" dir="{way}"' in markup


@pytest.mark.parametrize("draw", [coloured_sentence, attention_table])
def test_no_token_is_read_as_markup(draw) -> None:
    tokens = (Token("<img src=x onerror=alert(1)>", "x", 0), Token('"><script>', "y", 1))
    tags = {tag for tag, _ in Elements(draw(view_of({"encoder": attention_over(tokens)}))).found}
    assert not tags & {"img", "script"}


def test_a_small_table_holds_every_weight_and_a_large_one_the_strongest() -> None:
    small = view_of({"encoder": attention_over(tokens_of("a b c"))})
    assert attention_table(small).count("<td>") == 9
    large = view_of({"encoder": attention_over(tokens_of(" ".join(["w"] * 200)), layers=1, heads=1)})
    assert attention_table(large).count("<td>") == 3 * 128
    assert "72 more are not listed" in attention_table(large)


def steps(theme: str) -> dict[str, str]:
    """The custom properties of the ramps, as one theme has them."""
    light, dark = (dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block)) for block in re.findall(
        r"\{([^}]*--minus-1:[^}]*)\}", STYLE))  # fmt: skip
    return light if theme == "light" else light | dark


def luminance(colour: str) -> float:
    channels = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("ramp", ["step", "minus"])
def test_text_can_be_read_on_every_step_and_steps_go_one_way(theme: str, ramp: str) -> None:
    colours = steps(theme)
    shades = [luminance(colours[f"{ramp}-{step}"]) for step in range(1, 8)]
    assert shades == sorted(shades, reverse=theme == "light"), "in grey print the order is the same"
    for step, shade in enumerate(shades, start=1):
        text = luminance(colours["on-pale" if step < 5 else "on-strong"])
        assert (max(text, shade) + 0.05) / (min(text, shade) + 0.05) >= 4.5, f"{ramp}-{step}"
