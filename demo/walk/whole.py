"""The whole model in one picture, at its own sizes: each part opens its step, and the followed word runs through."""

from collections.abc import Sequence

from demo.plots.walk import strip_image, strip_top
from models.inside.outputs import Numbers
from models.inside.parameters import Sizes
from models.registry import Checkpoint, Task

_TITLE = "The whole in one picture: each part opens its step"


def whole_picture(checkpoint: Checkpoint, sizes: Sizes, step: str, layer: int, vectors: Numbers | None = None) -> str:
    """The model of `checkpoint` with the part of `step` marked, and of the layers number `layer`, counted from 0.

    `vectors` are those of the followed word, `[layer + 1, width]`; each stands in front of the layer that reads it.
    """
    task, choices = checkpoint.task, _CHOICES.get(checkpoint.task, (f"{sizes.vocabulary:,}", "pieces to choose among"))
    parts = [
        _part("tokens", "tokens", f"{sizes.vocabulary:,}", "pieces in the vocabulary", step),
        _part("vectors", "vectors", f"{sizes.width}", "numbers in each vector", step),
        _stack(sizes, step, layer, _strips(vectors), looks_back=task is Task.COMPLETION),
    ]
    if sizes.decoder_layers:
        parts.append(_part("translation", "decoder", f"{sizes.decoder_layers} layers", "which look across", step))
    parts.append(_part("guess", "out", *choices, step))
    parts.append(_part("counting", "in all", f"{checkpoint.parameters / 1e6:,.1f} M", "learned numbers", step))
    return f'<nav class="whole" aria-label="{_TITLE}">{"".join(parts)}</nav>'


_CHOICES = {
    Task.SENTIMENT: ("2", "labels"),
    Task.QUESTION_ANSWERING: ("2", "places: where the answer starts and ends"),
    Task.NAMES: ("9", "labels for each token"),
    Task.SENTENCE_PAIR: ("7", "labels of three questions"),
}
"""What encoders that do not choose among all pieces choose among."""


def _part(key: str, name: str, size: str, meaning: str, step: str) -> str:
    here = ' aria-current="step"' if key == step else ""
    return (
        f'<button type="button" class="part" data-action="select" data-step="{key}" title="{size} {meaning}"{here}>'
        f"<span>{name}</span><small>{size}</small></button>"
    )


def _stack(sizes: Sizes, step: str, layer: int, strips: Sequence[str], *, looks_back: bool) -> str:
    """A column for each layer: its heads, one square each, over its feed-forward part.

    They are small, and the choice of a step and the slider of layers do the same: so the keyboard passes them by.
    """
    attention = "masking" if step == "masking" else "head"
    columns = []
    for number in range(sizes.layers):
        chosen = number == layer
        cells = "".join(
            f'<button type="button" class="{kind}" data-action="select" data-step="{key}" data-layer="{number}" '
            f'tabindex="-1" aria-label="Layer {number + 1}: {said}"'
            f"{' aria-current=step' if chosen and key == step else ''}>{drawn}</button>"
            for kind, key, said, drawn in (
                ("heads", attention, f"attention, {sizes.heads} heads", "<i></i>" * sizes.heads),
                ("inner", "block", f"feed-forward, {sizes.inner} wide", ""),
            )
        )
        strip = strips[number] if strips else ""
        columns.append(f'{strip}<span class="layer{" chosen" if chosen else ""}">{cells}</span>')
    ways = "back only" if looks_back else "both ways"
    said = f"{sizes.layers} layers × {sizes.heads} heads, looking {ways}"
    last = strips[-1] if strips else ""
    return f'<figure class="stack"><div>{"".join(columns)}{last}</div><figcaption>{said}</figcaption></figure>'


def _strips(vectors: Numbers | None) -> list[str]:
    if vectors is None:
        return []
    top = strip_top(vectors)
    return [f'<img class="way" alt="" src="{strip_image(vector, top, upright=True)}">' for vector in vectors]
