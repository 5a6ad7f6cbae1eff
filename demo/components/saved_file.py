"""A text that is saved as a file by the visitor's browser, so that the server keeps no file of a visitor."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio.components import Component

from demo.messages import for_visitors

_SAVE = """
(text, name, type) => {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], {type: type}));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
"""
_HIDDEN: dict[str, Any] = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}


@dataclass(frozen=True)
class TextFile:
    """A file as a browser saves it."""

    text: str
    name: str
    media_type: str


def csv_file(text: str, stem: str) -> TextFile:
    """A table; the mark at its start tells spreadsheets that it is UTF-8."""
    return TextFile("\ufeff" + text, f"{stem}.csv", "text/csv;charset=utf-8")


def json_file(text: str, stem: str) -> TextFile:
    """A JSON document."""
    return TextFile(text, f"{stem}.json", "application/json")


@dataclass(frozen=True, eq=False)
class SavedFile:
    """Where a file's parts are on their way to the browser's folder."""

    parts: tuple[gr.Textbox, gr.Textbox, gr.Textbox]

    def connect(
        self, button: gr.Button, make: Callable[..., TextFile], inputs: Sequence[Component], **event: Any
    ) -> None:
        """Let `button` save the file that `make` makes of `inputs`; what is saved is not kept in the page.

        `event` are options of the event that makes it, such as the line that it waits in.
        """

        def written(*values: Any) -> tuple[str, str, str]:
            file = make(*values)
            return file.text, file.name, file.media_type

        made = button.click(for_visitors(written), list(inputs), list(self.parts), **_HIDDEN | event)
        saved = made.success(None, list(self.parts), None, js=_SAVE)
        saved.then(lambda: "", None, self.parts[0], **_HIDDEN)


def create_saved_file() -> SavedFile:
    """The hidden parts of a file; several buttons may share them."""
    text, name, kind = (gr.Textbox(visible=False, label=label) for label in ("File", "File name", "File type"))
    return SavedFile((text, name, kind))
