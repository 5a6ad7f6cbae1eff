"""The answers to 100 inputs of each bundled checkpoint, in float32, stay as recorded, whatever the engine.

`python -m tests.models.test_golden` records them again, which is right only after a checkpoint was trained anew.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from models.loading.store import ModelStore
from models.registry import REGISTRY
from models.tasks.base import AnyTaskModel
from tests.models.conftest import BundledModel
from tests.models.test_precision import INPUTS, MOST_MOVED, first_answer

RECORDED = Path(__file__).parent / "golden.json"
COUNT = 100
LONGER = {"clearhead-stories": {"max_new_tokens": 12}, "clearhead-en-fr": {"num_beams": 4}}
"""Of what is written, more than a first token is recorded."""


def answer_of(model: AnyTaskModel, fields: dict[str, Any]) -> dict[str, Any]:
    """The first answer and its probability, and what was written."""
    output = model(**fields)
    first, shares = first_answer(output)
    said = getattr(output, "text", None) or [each.text for each in getattr(output, "translations", ())]
    return {"first": json.loads(json.dumps(first)), "share": shares[first], "said": said}


def fields_of(name: str, number: int) -> dict[str, Any]:
    return {**INPUTS[name][0](number), **LONGER.get(name, {})}


@pytest.mark.parametrize("name", list(INPUTS))
def test_answers_are_those_that_were_recorded(bundled: BundledModel, name: str) -> None:
    model, recorded = bundled(name), json.loads(RECORDED.read_text(encoding="utf-8"))[name]
    assert len(recorded) == COUNT
    agreed = 0
    for number, expected in enumerate(recorded):
        found = answer_of(model, fields_of(name, number))
        agreed += (found["first"], found["said"]) == (expected["first"], expected["said"])
        if found["first"] == expected["first"]:
            assert found["share"] == pytest.approx(expected["share"], abs=MOST_MOVED / 20)
    assert agreed >= COUNT - 1


if __name__ == "__main__":
    store = ModelStore()
    answers = {
        name: [answer_of(store.load(REGISTRY[name]), fields_of(name, number)) for number in range(COUNT)]
        for name in INPUTS
    }
    RECORDED.write_text(json.dumps(answers, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
