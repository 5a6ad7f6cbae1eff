"""The answers of the MCP tools, as JSON.

Gradio writes an answer as Python prints it (`{'label': 'positive'}`), which no client can parse. Here each answer is
one JSON object, as text and as `structuredContent` (Model Context Protocol, "Structured Content").
"""

import json
from typing import Any

from gradio.mcp import GradioMCPServer
from mcp.types import CallToolRequest, CallToolResult, ServerResult, TextContent


def answer_in_json(server: GradioMCPServer) -> None:
    """Let every tool of `server` answer with JSON; a refusal stays the sentence that it is."""
    vars(server)["postprocess_output_data"] = _as_text
    handlers = server.mcp_server.request_handlers
    call_tool = handlers[CallToolRequest]

    async def call_tool_structured(request: CallToolRequest) -> ServerResult:
        result: ServerResult = await call_tool(request)
        answer = result.root
        if isinstance(answer, CallToolResult) and not answer.isError:
            (content,) = answer.content
            if isinstance(content, TextContent):
                answer.structuredContent = json.loads(content.text)
        return result

    handlers[CallToolRequest] = call_tool_structured


def _as_text(outputs: list[Any], _root_url: str) -> list[TextContent]:
    """What the endpoint returned, one JSON text for each output; every endpoint here has one output, an object."""
    return [TextContent(type="text", text=json.dumps(output, ensure_ascii=False)) for output in outputs]
