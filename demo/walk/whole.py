"""The whole model in one picture with its sizes: each part opens its step, and the token's vectors run through."""

from collections.abc import Sequence

from demo.language import N_, _, ngettext, number
from demo.plots.walk import strip_image, strip_top
from models.inside.outputs import Numbers
from models.inside.parameters import Sizes
from models.registry import Checkpoint, Task


def whole_picture(checkpoint: Checkpoint, sizes: Sizes, step: str, layer: int, vectors: Numbers | None = None) -> str:
    """HTML picture of the model with the part of `step` marked, and layer `layer`, counted from 0, highlighted.

    `vectors` `[layer + 1, width]` are the followed token's; each stands in front of the layer that reads it.
    """
    task, vocabulary, millions = checkpoint.task, sizes.vocabulary, checkpoint.parameters / 1e6
    pieces = _("{count:,} pieces in the vocabulary", count=vocabulary)
    numbers = _("{count} numbers in each vector", count=sizes.width)
    parts = [
        _part("tokens", _("tokens"), number(vocabulary), pieces, step),
        _part("vectors", _("vectors"), str(sizes.width), numbers, step),
        _stack(sizes, step, layer, _strips(vectors), looks_back=task is Task.COMPLETION),
    ]
    if sizes.decoder_layers:
        layers = ngettext("{count} layer", "{count} layers", sizes.decoder_layers)
        across = ngettext("{count} layer which looks across", "{count} layers which look across", sizes.decoder_layers)
        parts.append(_part("translation", _("decoder"), layers, across, step))
    count, choices = _CHOICES.get(task, (vocabulary, N_("{count:,} pieces to choose among")))
    parts.append(_part("guess", _("out"), number(count), _(choices, count=count), step))
    learned = _("{millions:,.1f} M learned numbers", millions=millions)
    parts.append(_part("counting", _("in all"), _("{millions:,.1f} M", millions=millions), learned, step))
    title = _("The whole in one picture: each part opens its step")
    return f'<nav class="whole" aria-label="{title}">{"".join(parts)}</nav>'


_CHOICES = {
    Task.SENTIMENT: (2, N_("{count} labels")),
    Task.QUESTION_ANSWERING: (2, N_("{count} places: where the answer starts and ends")),
    Task.NAMES: (9, N_("{count} labels for each token")),
    Task.SENTENCE_PAIR: (7, N_("{count} labels of three questions")),
}
"""The number of choices and its label, for tasks that do not choose among the whole vocabulary."""


def _part(key: str, name: str, size: str, said: str, step: str) -> str:
    here = ' aria-current="step"' if key == step else ""
    return (
        f'<button type="button" class="part" data-action="select" data-step="{key}" title="{said}"{here}>'
        f"<span>{name}</span><small>{size}</small></button>"
    )


def _stack(sizes: Sizes, step: str, layer: int, strips: Sequence[str], *, looks_back: bool) -> str:
    """HTML with a column per layer: its heads, one square each, above its feed-forward part.

    The buttons are small, and the step and layer controls do the same, so they are left out of the tab order.
    """
    attention = "masking" if step == "masking" else "head"
    columns = []
    for place in range(sizes.layers):
        chosen = place == layer
        attends = ngettext(
            "Layer {layer}: attention, {count} head", "Layer {layer}: attention, {count} heads", sizes.heads,
            layer=place + 1,
        )  # fmt: skip
        feeds_forward = _("Layer {layer}: feed-forward, {width} wide", layer=place + 1, width=sizes.inner)
        cells = "".join(
            f'<button type="button" class="{kind}" data-action="select" data-step="{key}" data-layer="{place}" '
            f'tabindex="-1" aria-label="{said}"'
            f"{' aria-current=step' if chosen and key == step else ''}>{drawn}</button>"
            for kind, key, said, drawn in (
                ("heads", attention, attends, "<i></i>" * sizes.heads),
                ("inner", "block", feeds_forward, ""),
            )
        )
        strip = strips[place] if strips else ""
        columns.append(f'{strip}<span class="layer{" chosen" if chosen else ""}">{cells}</span>')
    if looks_back:
        said = _("{layers} layers × {heads} heads, looking back only", layers=sizes.layers, heads=sizes.heads)
    else:
        said = _("{layers} layers × {heads} heads, looking both ways", layers=sizes.layers, heads=sizes.heads)
    last = strips[-1] if strips else ""
    return f'<figure class="stack"><div>{"".join(columns)}{last}</div><figcaption>{said}</figcaption></figure>'


def _strips(vectors: Numbers | None) -> list[str]:
    if vectors is None:
        return []
    top = strip_top(vectors)
    return [f'<img class="way" alt="" src="{strip_image(vector, top, upright=True)}">' for vector in vectors]
