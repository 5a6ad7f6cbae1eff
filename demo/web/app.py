"""The whole site as one ASGI app: the page, the host's routes, and the layers that every call passes."""

import json
from collections import Counter
from collections.abc import Callable
from itertools import starmap
from typing import Any

import gradio as gr
from fastapi import FastAPI
from gradio.mcp import GradioMCPServer
from gradio.routes import App
from mcp.types import CallToolRequest, CallToolResult, ServerResult, TextContent
from sqlalchemy.engine import make_url
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from demo.caches import Origin
from demo.log.database import bytes_of, file_of
from demo.looks import AttentionSource
from demo.runs import DemoService, Finished
from demo.theme import launch_options
from demo.web.admission import Admission
from demo.web.gate import Gate
from demo.web.gradio_private import States, write_tool_answers
from demo.web.gradio_scripts import page_scripts
from demo.web.headers import PackedPage, SecurityHeaders, preview_route
from demo.web.host import Readiness, routes
from demo.web.languages import Languages
from demo.web.metrics import Metrics, memory_bytes
from demo.web.model_queue import ModelQueue
from demo.web.rate_limits import rate_limits
from demo.web.streams import Streams
from demo.web.visitors import Visitors
from models.loading.store import ModelStore


def create_app(demo: gr.Blocks, service: DemoService, store: ModelStore) -> ASGIApp:
    """The app that serves `demo`: `uvicorn app:app`, or `demo.web.server.serve`."""
    settings = service.settings
    limits = rate_limits(settings)
    visitors = Visitors(settings.secret if settings.limits_url else None)
    metrics, queue = Metrics(), ModelQueue(demo)
    shown: Counter[str] = Counter()
    log_file = file_of(make_url(settings.database_url))
    service.watch(metrics.ran)
    queue.watch(metrics.waited)
    metrics.read("waiting_runs", "Runs waiting", lambda: queue.waiting)
    metrics.read("running_runs", "Runs going on", lambda: queue.running)
    metrics.read("memory_bytes", "Memory", memory_bytes)
    metrics.read("model_bytes", "Models in memory", lambda: store.loaded_bytes)
    metrics.read("database_bytes", "Database", lambda: bytes_of(log_file))
    kept = "Runs are kept (1) or the database cannot be written (0)"
    metrics.read("history_kept", kept, lambda: service.history_is_kept)
    shared = "Rate limits hold for all processes together (1) or for this one (0)"
    metrics.read("limits_shared", shared, lambda: limits.are_shared)
    app = FastAPI(
        routes=[
            *routes(Readiness(service), metrics, store, settings.host_password, visitors, limits),
            preview_route,
            *starmap(_script_route, page_scripts().items()),
            Route("/monitoring/summary", _monitoring_summary),
        ],
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
    # Gradio's queue answers events through the app that Blocks make for themselves, and these made none.
    demo.app = gradio_app
    states = gradio_app.state_holder = States(demo, shown)

    def forget(is_meant: Callable[[Origin], bool]) -> None:
        """Delete the texts that open pages hold of runs for whose origin `is_meant` is true."""
        for session in list(states.session_data.values()):
            for key, value in list(session.state_data.items()):
                if isinstance(value, Finished | AttentionSource) and is_meant(value.origin):
                    session.state_data[key] = value.forgotten

    service.when_forgetting(forget)
    if demo.mcp_server_obj:
        _answer_tools_in_json(demo.mcp_server_obj)
    # The layers enclose everything, Starlette's answer to an unforeseen error included: every refusal has its headers
    # too, and a page is compressed last.
    site: ASGIApp = Admission(app, settings, queue, visitors, limits, metrics)
    site = Streams(site, queue, visitors, shown)
    site = Gate(site, settings.limits.call_bytes, visitors)
    return Languages(PackedPage(SecurityHeaders(site, settings.framed_by, settings.root_path)))


def _script_route(address: str, text: str) -> Route:
    async def script(scope: Scope, receive: Receive, send: Send) -> None:
        response = Response(text, media_type="text/javascript", headers={"Cache-Control": "max-age=86400"})
        await response(scope, receive, send)

    return Route(address, GZipMiddleware(script))


async def _monitoring_summary(_request: Request) -> Response:
    """Answer Gradio's page of the endpoints, which asks for figures that are not counted here."""
    return JSONResponse({"functions": {}})


def _answer_tools_in_json(server: GradioMCPServer) -> None:
    """Let every tool that an assistant reaches over MCP answer in JSON, as text and as `structuredContent`."""
    write_tool_answers(server, _as_json)
    call_tool = server.mcp_server.request_handlers[CallToolRequest]

    async def call_and_structure(request: CallToolRequest) -> ServerResult:
        result: ServerResult = await call_tool(request)
        answer = result.root
        if isinstance(answer, CallToolResult) and not answer.isError and isinstance(answer.content[0], TextContent):
            answer.structuredContent = json.loads(answer.content[0].text)
        return result

    server.mcp_server.request_handlers[CallToolRequest] = call_and_structure


def _as_json(value: Any) -> TextContent:
    return TextContent(type="text", text=json.dumps(value, ensure_ascii=False))
