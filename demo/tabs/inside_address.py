"""Addresses of the steps of Inside: the page opens at one, goes back to one, and gets that of the drawn step."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

import gradio as gr

from demo.events import for_visitors
from demo.recorded import inside_examples
from demo.settings import MODEL_QUEUE
from demo.tabs.inside import InsideTab, both
from demo.walk.steps import STEPS
from demo.walk.view import from_query
from demo.widgets import Updates


def open_addresses(inside: InsideTab, demo: gr.Blocks, tabs: gr.Tabs, masthead: gr.HTML) -> None:
    """Make `inside` show the view of an address (`InsideRequest.to_query`) that the page is opened at, or goes back to.

    The script of `masthead` triggers `select` for the latter; it gets the address of each drawn step for the page.
    """

    def arrive(query: Mapping[str, str], own: Sequence[Any]) -> Updates:
        asked = from_query(query, inside_examples()[0].request)
        if asked is None:
            return {inside.stepper: gr.skip()}
        if asked.step not in inside.built:
            asked = replace(asked, step=STEPS[0].key)
        return both(inside.open(asked), inside.show(asked.step, *inside.values(asked), *own))

    def opened(request: gr.Request, *own: Any) -> Updates:
        shown = arrive(request.query_params, own)
        return shown | {tabs: gr.update(selected="inside")} if inside.heading in shown else shown

    def gone_back(address: str, *own: Any) -> Updates:
        return arrive(dict(parse_qsl(address.partition("#")[0].removeprefix("?"))), own)

    changed = list(dict.fromkeys([tabs, *inside.shared, *inside.turned, *inside.drawn]))
    drawing: dict[str, Any] = {
        "concurrency_id": MODEL_QUEUE, "show_progress": "hidden", "api_visibility": "private"
    }  # fmt: skip
    demo.load(for_visitors(opened), inside.own, changed, **drawing)
    address = gr.Textbox("", visible="hidden", label="Address of a step")
    masthead.select(None, None, address, js="() => `${location.search}#${Date.now()}`")
    address.change(for_visitors(gone_back), [address, *inside.own], changed, **drawing)
    inside.here.change(None, inside.here, None, js="(address) => window.clearhead.drewInside(address)")
