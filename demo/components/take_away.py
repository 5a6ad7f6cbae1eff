"""Take it away: the picture, its numbers and a page as files, and a link to the run."""

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio.components import Component

from demo.attempt import Finished
from demo.components.saved_file import SavedFile, TextFile, create_saved_file, csv_file, json_file
from demo.components.taken import Taken, as_csv, as_json
from demo.components.taken_page import as_page
from demo.messages import for_visitors
from demo.page import ASSETS
from demo.service import DemoService
from demo.settings import MODEL_QUEUE
from models.errors import InputError

Take = Callable[..., Taken]
"""From whatever the reader's handlers need to know to what is on screen."""

_HELP = (
    '<p class="quiet">The picture and its numbers as they are above, as files. The page is one file that works without '
    "a network. The link opens this run with its text, settings and view, here on this host; it works only from when "
    "you ask for it until you stop sharing or delete the run. Whoever has it sees this run and none of your others.</p>"
)
_STOPPED = '<p role="status">No longer shared: the link leads nowhere now.</p>'
_FORGETFUL = " This host keeps no log at the moment, so the link stops working when it restarts."
_HIDDEN: dict[str, Any] = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
_COMPUTED: dict[str, Any] = {"queue": True, "concurrency_id": MODEL_QUEUE}
"""What may have to capture attention anew waits in the line of the models."""


@dataclass(frozen=True, eq=False)
class TakeAway:
    """The buttons, a line on what was saved, and the link once there is one."""

    picture: gr.Button
    csv: gr.Button
    json: gr.Button
    page: gr.Button
    link: gr.Button
    saved: gr.HTML
    file: SavedFile
    shared: gr.HTML

    @property
    def outputs(self) -> list[Component]:
        """What is about one run and says nothing about another."""
        return [self.saved, self.shared]

    def connect(self, service: DemoService, session: gr.BrowserState, take: Take, asked: Sequence[Component]) -> None:
        """Let the buttons take away what `take` says is on screen, from the values of `asked`, a run first."""

        def to_csv(*values: Any) -> TextFile:
            taken = take(*values)
            return csv_file(as_csv(taken), taken.stem)

        def to_json(*values: Any) -> TextFile:
            taken = take(*values)
            return json_file(as_json(taken), taken.stem)

        def to_page(*values: Any) -> TextFile:
            taken = take(*values)
            return TextFile(as_page(taken), f"{taken.stem}.html", "text/html;charset=utf-8")

        def share(session_id: str, *values: Any) -> str:
            taken = take(*values)
            try:
                key = service.sharing.share(taken.finished.run.id, session_id)
            except InputError as error:
                return f'<p role="alert">{html.escape(error.sentence)}</p>'
            return shared_link(key, taken.place.as_fragment(), service.history_is_kept)

        def unshare(session_id: str, finished: Finished, *_values: Any) -> str:
            # Not what is on screen: sharing ends also where that is forgotten.
            service.sharing.unshare(finished.run.id, session_id)
            return _STOPPED

        self.picture.click(
            None, None, self.saved, js=(ASSETS / "scripts" / "save_picture.js").read_text(encoding="utf-8")
        )
        for button, make in ((self.csv, to_csv), (self.json, to_json), (self.page, to_page)):
            self.file.connect(button, make, asked, **_COMPUTED)
        self.link.click(for_visitors(share), [session, *asked], self.shared, **_HIDDEN | _COMPUTED)
        self.shared.delete(for_visitors(unshare), [session, *asked], self.shared, **_HIDDEN)


def create_take_away() -> TakeAway:
    """A folded section; nothing is made before a button is pressed."""
    with gr.Accordion("Take it away: picture, numbers, page, link", open=False, elem_classes="tool"):
        gr.HTML(_HELP)
        with gr.Row(elem_classes="history-actions"):
            picture, csv, json, page, link = (
                gr.Button(name, min_width=170, scale=0)
                for name in ("Picture (PNG)", "Numbers (CSV)", "Numbers (JSON)", "Page (HTML)", "Link")
            )
        saved = gr.HTML("", label="What was saved")
        script = (ASSETS / "scripts" / "shared_link.js").read_text(encoding="utf-8")
        shared = gr.HTML("", js_on_load=script, elem_classes="shared-link", label="The link")
        file = create_saved_file()
    return TakeAway(picture, csv, json, page, link, saved, file, shared)


def shared_link(key: str, place: str, lasting: bool = True) -> str:
    """The address of a shared run, which the page's script completes, with buttons to copy it and to take it back."""
    return (
        '<label>Address of this run and view<input type="text" readonly '
        f'data-key="{html.escape(key)}" data-place="{html.escape(place)}"></label>'
        '<p class="link-actions"><button type="button" data-copy>Copy the link</button>'
        '<button type="button" data-unshare>Stop sharing</button><span role="status"></span></p>'
        f'<p class="quiet">Whoever has this address can see this run.{"" if lasting else _FORGETFUL}</p>'
    )
