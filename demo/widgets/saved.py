"""Files that a visitor saves: a picture, a table, or a page that needs no network."""

import base64
import hashlib
import html
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio.components import Component
from gradio.components.plot import PlotData
from plotly.offline import get_plotlyjs

from demo.events import QUICK, for_visitors
from demo.language import language
from demo.theme import ASSETS, script
from demo.widgets import Updates

_SAVE = """
(text, name, type) => {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], {type: type}));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
"""


@dataclass(frozen=True)
class TextFile:
    """A text file for the browser to save."""

    text: str
    name: str
    media_type: str


def csv_file(text: str, stem: str) -> TextFile:
    """A CSV file; the byte order mark at its start tells spreadsheets that it is UTF-8."""
    return TextFile("\ufeff" + text, f"{stem}.csv", "text/csv;charset=utf-8")


def json_file(text: str, stem: str) -> TextFile:
    """A JSON document."""
    return TextFile(text, f"{stem}.json", "application/json")


def html_file(text: str, stem: str) -> TextFile:
    """An HTML page."""
    return TextFile(text, f"{stem}.html", "text/html;charset=utf-8")


class SavedFile:
    """Hidden components that pass a file to the browser, which saves it; several buttons may share them."""

    def __init__(self) -> None:
        self._parts = [gr.Textbox(visible=False, label=label) for label in ("File", "File name", "File type")]

    def connect(
        self, button: gr.Button, make: Callable[..., TextFile], inputs: Sequence[Component], **event: Any
    ) -> None:
        """Let `button` save the file that `make` returns for `inputs`; its text is not kept in the page.

        `event` are options of the event that makes it, such as its queue.
        """

        def written(*values: Any) -> tuple[str, str, str]:
            file = make(*values)
            return file.text, file.name, file.media_type

        made = button.click(for_visitors(written), list(inputs), self._parts, **QUICK | event)
        saved = made.success(None, self._parts, None, js=_SAVE)
        saved.then(lambda: "", None, self._parts[0], **QUICK)


_STYLES = ("style.css", "decoder.css", "inside.css", "inside_head.css", "lecture.css", "taken_page.css")


def offline_page(title: str, body: str, own_script: str = "", figures: Sequence[str] = ()) -> str:
    """A page for offline use: `own_script` runs after `body`; its CSP forbids every request and any other script.

    The `figures`, JSON of plotly figures, are drawn into the elements of the class `offline-plot` in `body`, in their
    order. The page is light or dark as the visitor's system is.
    """
    scripts = [script("offline_page.js"), *([own_script] if own_script else [])]
    if figures:
        # In a script, "</" might end it.
        given = f"[{','.join(figures)}]".replace("</", "<\\/")
        plotly = get_plotlyjs().replace("</script", "<\\/script")
        scripts += [plotly, f"const figures = {given};\n{script('offline_plots.js')}"]
    digests = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    policy = (
        f"default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; script-src {allowed}; "
        "base-uri 'none'; form-action 'none'"
    )
    style = "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in _STYLES)
    return (
        f'<!doctype html>\n<html lang="{language()}"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>{html.escape(title)}</title><style>{style}</style></head>\n"
        f'<body class="gradio-container">{body}\n'
        f"{''.join(f'<script>{each}</script>' for each in scripts)}</body></html>\n"
    )


def of_updates(components: Iterable[Any], updates: Updates) -> tuple[str, list[str]]:
    """The HTML and plots in `updates` as one HTML text, in the order of `components`, and the plots' figures.

    A figure is the JSON of a plotly figure; `offline_page` draws it into the element that stands for it.
    """
    parts, figures = [], []
    for component in components:
        value = updates.get(component)
        if isinstance(value, PlotData):
            parts.append('<div class="inside-plot offline-plot"></div>')
            figures.append(value.plot)
        elif isinstance(value, str):
            parts.append(f'<div class="{" ".join(component.elem_classes or [])} prose">{value}</div>')
    return "".join(parts), figures
