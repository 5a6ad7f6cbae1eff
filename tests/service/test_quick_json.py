"""The quick JSON is the JSON that `json.dumps` writes, as far as a reader can tell."""

import json
import math
from typing import Any

import pytest

from demo.quick_json import as_json

_DEEP: list[Any] = []
for _ in range(400):
    _DEEP = [_DEEP]


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, 2.5, True, None, "x"], "b": (1, 2)},
        'é 𝄞 \u2028 \x00 \x85 " \\ \n',
        "half of a character: \ud800",
        {"é": "ü"},
        {1: "a number for a name"},
        10**30,
        [1e-05, 1e16, 1.7976931348623157e308, 5e-324, -0.0],
        _DEEP,
    ],
)
def test_it_reads_as_what_json_writes(value: Any) -> None:
    text = as_json(value)
    assert text.isascii()
    assert json.loads(text) == json.loads(json.dumps(value))


def test_a_number_that_is_none_is_null() -> None:
    assert as_json([math.nan, math.inf]) == "[null,null]"


def test_what_json_does_not_know_is_refused() -> None:
    with pytest.raises(TypeError):
        as_json({"a": object()})
