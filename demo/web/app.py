"""The whole site as one ASGI app: the page, the host's routes, and the layers that every call passes."""

from collections import Counter
from collections.abc import Callable
from functools import partial

import gradio as gr
from fastapi import FastAPI
from gradio.routes import App
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from demo.caches import Origin
from demo.looks import AttentionSource
from demo.runs import DemoService, Finished
from demo.theme import launch_options
from demo.web.admission import Admission
from demo.web.gate import Gate
from demo.web.gradio_private import States, answer_tools_in_json
from demo.web.headers import PackedPage, SecurityHeaders, preview_route
from demo.web.host import Readiness, routes
from demo.web.metrics import Metrics, database_bytes, memory_bytes
from demo.web.model_queue import ModelQueue
from demo.web.streams import Streams
from demo.web.visitors import Visitors
from models.loading.store import ModelStore


def create_app(demo: gr.Blocks, service: DemoService, store: ModelStore) -> FastAPI:
    """The app that serves `demo`: `uvicorn app:app`, or `demo.web.server.serve`."""
    settings = service.settings
    visitors, metrics, queue = Visitors(), Metrics(), ModelQueue(demo)
    shown: Counter[str] = Counter()
    service.watch(metrics.ran)
    _add_gauges(metrics, queue, service, store)
    # The first is the outermost: whatever refuses a call, the answer has its headers, and a page is compressed last.
    layers = [
        Middleware(PackedPage),
        Middleware(SecurityHeaders, frame_ancestors=settings.framed_by, root_path=settings.root_path),
        Middleware(Gate, most_bytes=settings.limits.call_bytes, visitors=visitors),
        Middleware(Streams, queue=queue, visitors=visitors, shown=shown),
        Middleware(Admission, settings=settings, queue=queue, visitors=visitors, metrics=metrics),
    ]
    app = _Site(
        routes=[
            *routes(Readiness(service, store), metrics, store, settings.host_password, visitors),
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
    (gradio_app,) = [each.app for each in app.routes if isinstance(each, Mount) and isinstance(each.app, App)]
    states = gradio_app.state_holder = States(demo, shown)
    service.when_forgetting(partial(_forget, states))
    if demo.mcp_server_obj:
        answer_tools_in_json(demo.mcp_server_obj)
    return app


def _add_gauges(metrics: Metrics, queue: ModelQueue, service: DemoService, store: ModelStore) -> None:
    """Let the host read how the process stands."""
    read: dict[tuple[str, str], Callable[[], float]] = {
        ("waiting_runs", "Runs waiting"): lambda: queue.waiting,
        ("running_runs", "Runs going on"): lambda: queue.running,
        ("memory_bytes", "Memory"): memory_bytes,
        ("model_bytes", "Models in memory"): lambda: store.loaded_bytes,
        ("database_bytes", "Database"): lambda: database_bytes(service.settings.database_url),
        ("history_kept", "Runs are kept (1) or the database cannot be written (0)"): lambda: service.history_is_kept,
    }
    for (name, meaning), function in read.items():
        metrics.gauge(name, meaning).set_function(function)


def _forget(states: States, is_meant: Callable[[Origin], bool]) -> None:
    """Delete the texts that open pages hold of runs whose origin `is_meant`."""
    for session in list(states.session_data.values()):
        for key, value in list(session.state_data.items()):
            if isinstance(value, Finished | AttentionSource) and is_meant(value.origin):
                session.state_data[key] = value.forgotten


async def _monitoring_summary(_request: Request) -> Response:
    """Answer Gradio's page of the endpoints, which asks for figures that nobody counts."""
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
