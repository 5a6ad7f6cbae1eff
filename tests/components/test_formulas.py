"""The formulas of the tab Inside: every step has them, equal to their LaTeX, with words to be read out and a source."""

import html
import re

import pytest

from demo.walk.formulas import Formula, folded_formulas, formulas, mathml_of
from demo.walk.step import WalkStep
from demo.walk.steps import STEPS

EVERY = pytest.mark.parametrize(
    "formula", [each for of_step in formulas().values() for each in of_step], ids=lambda each: each.latex
)


@EVERY
def test_its_mathml_is_that_of_its_latex(formula: Formula) -> None:
    assert formula.mathml == mathml_of(formula.latex)
    assert "merror" not in formula.mathml and "\\" not in re.sub("&#x0005C;", "", formula.mathml)


@EVERY
def test_it_says_itself_and_where_it_comes_from(formula: Formula) -> None:
    assert formula.says == formula.says.strip() and not re.search(r"[\\_^{}]", formula.says)
    assert re.fullmatch(r".+, (19|20)\d\d, (section|equation) .+", formula.source)
    assert formula.url.startswith("https://")


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.key)
def test_every_step_opens_on_its_first_formula(step: WalkStep) -> None:
    shown = folded_formulas(step.key)
    summary, _ = shown.split("</summary>")
    first, *_ = formulas()[step.key]
    assert summary.count("<math") == 1 and f'alttext="{html.escape(first.says)}"' in summary
    assert shown.count("<li>") == len(formulas()[step.key])
