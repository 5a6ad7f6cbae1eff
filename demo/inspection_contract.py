"""What the endpoints answer that look into a run. Callers rely on the names: add freely, rename none."""

from typing import Any, TypedDict

import numpy as np

from demo.contract import Answered, answer_of, answered
from demo.inspection import Changed
from demo.log.run import Run
from demo.plots.sheet import attention_sheet, data_uri, sheet_geometry
from models.errors import InputError
from models.explain.aggregation import reduce
from models.explain.agreement import agreement
from models.explain.head_roles import head_roles
from models.outputs import Attention, Attentions, Attribution
from models.text.words import merge_words, word_text, words_of


class AttentionRows(Answered):
    """`weights[query][key]` of one layer and head or of many; but for the maximum, every row sums to one."""

    kind: str
    kinds: list[str]
    query_tokens: list[str]
    key_tokens: list[str]
    weights: list[list[float]]
    layers: int
    heads: int


class Sheet(Answered):
    """All heads as one PNG in a data URI, layers as rows and heads as columns, and where each is, in pixels.

    The thumbnail of a layer and head, counted from 0, begins at `gap + head * (cell_width + gap)` from the left and
    `gap + layer * (cell_height + gap)` from the top.
    """

    kind: str
    kinds: list[str]
    image: str
    layers: int
    heads: int
    width: int
    height: int
    cell_width: int
    cell_height: int
    gap: int


class RoleOfHead(TypedDict):
    """What a head does, and the share of its weight behind it; layer and head are counted from 0."""

    layer: int
    head: int
    role: str
    share: float


class HeadRoles(Answered):
    """The role of every head, layer by layer."""

    kind: str
    kinds: list[str]
    roles: list[RoleOfHead]


class Attributed(Answered):
    """One signed score for each token: together `value` less `baseline_value`, the logits of `target`, plus `delta`.

    `agreement` is the rank correlation of the scores' sizes with the mean attention that the tokens receive, null where
    there are too few tokens.
    """

    target: str
    tokens: list[str]
    scores: list[float]
    method: str
    steps: int
    baseline: str
    delta: float
    value: float
    baseline_value: float
    agreement: float | None


class Comparison(Answered):
    """The answer before and after, each as its task's endpoint gives it, and whether they say different things."""

    before: dict[str, Any]
    after: dict[str, Any]
    changed: bool


def attention_rows(
    run: Run, attentions: Attentions, kind: str, layer: int, head: int, words: bool, how: str
) -> AttentionRows:
    """The answer of `/attention`; raises `InputError` for a kind, layer or head that is not there."""
    chosen = _of_kind(attentions, kind)
    weights = reduce(chosen, how, layer, head)
    query_tokens = [token.text for token in chosen.query_tokens]
    key_tokens = [token.text for token in chosen.key_tokens]
    if words:
        queries, keys = words_of(chosen.query_tokens), words_of(chosen.key_tokens)
        weights = merge_words(weights, queries, keys)
        query_tokens = [word_text(chosen.query_tokens, word) for word in queries]
        key_tokens = [word_text(chosen.key_tokens, word) for word in keys]
    return {
        **answered(run),
        "kind": chosen.kind,
        "kinds": list(attentions),
        "query_tokens": query_tokens,
        "key_tokens": key_tokens,
        "weights": np.asarray(weights, dtype=np.float64).tolist(),
        "layers": chosen.layers,
        "heads": chosen.heads,
    }


def sheet(run: Run, attentions: Attentions, kind: str, dark: bool) -> Sheet:
    """The answer of `/attention_sheet`; raises `InputError` for a kind that is not there."""
    chosen = _of_kind(attentions, kind)
    geometry = sheet_geometry(chosen)
    return {
        **answered(run),
        "kind": chosen.kind,
        "kinds": list(attentions),
        "image": data_uri(attention_sheet(chosen, dark)),
        "layers": geometry.layers,
        "heads": geometry.heads,
        "width": geometry.width,
        "height": geometry.height,
        "cell_width": geometry.cell_width,
        "cell_height": geometry.cell_height,
        "gap": geometry.gap,
    }


def roles(run: Run, attentions: Attentions, kind: str) -> HeadRoles:
    """The answer of `/head_roles`; raises `InputError` for a kind that is not there."""
    chosen = _of_kind(attentions, kind)
    return {
        **answered(run),
        "kind": chosen.kind,
        "kinds": list(attentions),
        "roles": [
            {"layer": each.layer, "head": each.head, "role": each.role, "share": each.share}
            for each in head_roles(chosen)
        ],
    }


def attributed(run: Run, attribution: Attribution, attentions: Attentions) -> Attributed:
    """The answer of `/attribution`."""
    first = _of_kind(attentions, "")
    return {
        **answered(run),
        "target": attribution.target,
        "tokens": [token.text for token in attribution.tokens],
        "scores": list(attribution.scores),
        "method": attribution.method,
        "steps": attribution.steps,
        "baseline": attribution.baseline,
        "delta": attribution.delta,
        "value": attribution.value,
        "baseline_value": attribution.baseline_value,
        "agreement": agreement(attribution, first.matrix(), first.masked),
    }


def comparison(run: Run, changed: Changed) -> Comparison:
    """The answer of `/ablate` and `/replace_token`."""
    before, after = (
        {name: value for name, value in answer_of(run, output).items() if name not in Answered.__annotations__}
        for output in (changed.before, changed.after)
    )
    return {**answered(run), "before": before, "after": after, "changed": _said(before) != _said(after)}


def _of_kind(attentions: Attentions, kind: str) -> Attention:
    if kind and kind not in attentions:
        raise InputError(f"This run has no such attention; it has: {', '.join(attentions)}.", "kind")
    return attentions[kind] if kind else next(iter(attentions.values()))


def _said(answer: dict[str, Any]) -> object:
    """What an answer says, without its numbers."""
    match answer:
        case {"label": label}:
            return label
        case {"sequences": sequences}:
            return sequences[:1]
        case {"answered": answered, "answers": answers}:
            return answers[0]["text"] if answered else None
        case {"translations": translations}:
            return translations[0]["text"]
        case _:
            return answer["text"]
