"""The whole site as one ASGI app: the page, the host's routes, and the layers that every call passes."""

from collections import Counter

import gradio as gr
from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from demo.page import launch_options
from demo.service import DemoService
from demo.web.admission import Admission
from demo.web.calls import Calls
from demo.web.gate import Gate
from demo.web.headers import SecurityHeaders
from demo.web.host import routes
from demo.web.host_page import HostView
from demo.web.line import Line
from demo.web.listening import Listening
from demo.web.metrics import Metrics
from demo.web.packing import Packing
from demo.web.page_state import keep_states_only
from demo.web.preview import preview_route
from demo.web.prompt_queue import make_prompt
from demo.web.sending import Sending
from demo.web.state import Ready
from demo.web.tools import answer_in_json
from demo.web.unfetched import Unfetched
from demo.web.visitors import Visitors
from models.loading.store import ModelStore


def create_app(demo: gr.Blocks, service: DemoService, store: ModelStore) -> FastAPI:
    """The app that serves `demo`: `uvicorn app:app`, or `demo.web.server.serve`."""
    settings = service.settings
    visitors, metrics, unfetched = Visitors(), Metrics(), Unfetched()
    shown: Counter[str] = Counter()
    line = Line(demo, visitors)
    make_prompt(demo, unfetched)
    service.watch(metrics.ran)

    def view() -> HostView:
        return HostView(metrics, line, store, settings.database_url, service.history_is_kept)

    # The first is the outermost: whatever refuses a call, the answer has its headers; a page has its nonce before it
    # is packed.
    layers = [
        Middleware(Sending, unfetched=unfetched),
        Middleware(Packing),
        Middleware(SecurityHeaders, frame_ancestors=settings.frame_ancestors, root_path=settings.root_path),
        Middleware(Gate, most_bytes=settings.limits.call_bytes, visitors=visitors),
        Middleware(Visits, metrics=metrics),
        Middleware(Admission, settings=settings, line=line, visitors=visitors, metrics=metrics),
        Middleware(Listening, line=line, shown=shown),
        Middleware(Calls, blocks=demo, most_bytes=settings.limits.call_bytes),
    ]
    app = _Site(
        routes=[
            *routes(Ready(service, store), view, settings.host_password, visitors),
            preview_route,
            Route("/monitoring/summary", _monitoring_summary),
        ],
        middleware=layers,
        openapi_url=None,
    )
    gr.mount_gradio_app(
        app,
        demo,
        path="/",
        root_path=settings.root_path,
        mcp_server=True,
        ssr_mode=False,
        show_error=False,
        enable_monitoring=False,
        run_history=False,
        pwa=False,
        max_file_size="1b",
        allowed_paths=[],
        footer_links=["api"],
        **launch_options(),
    )
    service.when_forgetting(keep_states_only(app, demo, shown).forget)
    if demo.mcp_server_obj:
        answer_in_json(demo.mcp_server_obj)
    return app


async def _monitoring_summary(_request: Request) -> Response:
    """What Gradio's page of the endpoints asks for: it counts nothing here, and says so."""
    return JSONResponse({"functions": {}})


class _Site(FastAPI):
    """FastAPI with its answer to an unforeseen error inside our layers, so that this one has its headers too."""

    def build_middleware_stack(self) -> ASGIApp:
        """Starlette puts its own error layer outermost; ours go around it."""
        ours, self.user_middleware = self.user_middleware, []
        stack = super().build_middleware_stack()
        self.user_middleware = ours
        for layer, args, kwargs in reversed(ours):
            stack = layer(stack, *args, **kwargs)
        return stack


class Visits:
    """Counts each time that the page is opened."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count and pass on."""
        if scope["type"] == "http" and scope["path"] == "/" and scope["method"] == "GET":
            self.metrics.visited()
        await self.app(scope, receive, send)
