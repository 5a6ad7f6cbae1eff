"""The picture of pre-training and fine-tuning has the figures of the models' cards."""

import re

from demo.plots.pretraining import ON_THE_DECODER, ON_THE_ENCODER, pretraining_picture
from demo.tabs.form import TAB_NAMES
from models.registry import REGISTRY


def test_every_figure_stands_in_the_models_card() -> None:
    for head in ON_THE_ENCODER:
        card = (REGISTRY[head.checkpoint].folder / "README.md").read_text(encoding="utf-8")
        (figure,) = re.findall(r"\d+\.\d", head.well)
        assert re.search(rf"^\| .* \| {re.escape(figure)} \|$", card, re.MULTILINE), head


def test_every_box_leads_to_a_tab() -> None:
    assert {head.tab for head in (*ON_THE_ENCODER, *ON_THE_DECODER)} <= set(TAB_NAMES.values())
    assert pretraining_picture().count('href="?tab=') == len(ON_THE_ENCODER) + len(ON_THE_DECODER)
