"""The tools that an assistant reaches over MCP answer in JSON, as text and as `structuredContent`."""

import json
from typing import Any

from gradio.mcp import GradioMCPServer
from mcp.types import CallToolRequest, CallToolResult, ServerResult, TextContent

from demo.web.gradio_private import write_tool_answers


def answer_in_json(server: GradioMCPServer) -> None:
    """Let every tool of the server do so."""
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
