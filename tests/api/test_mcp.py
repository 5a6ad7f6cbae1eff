"""The tasks are tools for MCP clients, documented and as strict as the endpoints."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import TypeVar

from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, TextContent

from tests.api.server import Server

Result = TypeVar("Result")


def with_tools(server: Server, ask: Callable[[ClientSession], Awaitable[Result]]) -> Result:
    """What `ask` learns from the app's MCP server."""

    async def talk() -> Result:
        async with (
            streamable_http_client(f"{server.url}gradio_api/mcp/") as (reading, writing, _),
            ClientSession(reading, writing) as session,
        ):
            await session.initialize()
            return await ask(session)

    return asyncio.run(talk())


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def test_every_task_is_a_tool_whose_parameters_are_explained(server: Server) -> None:
    tools = with_tools(server, lambda session: session.list_tools()).tools
    names = ["fill_mask", "sentiment", "question_answering", "names", "sentence_pair", "endings"]
    names += ["translation", "completion", "word_in_context", "teach", "surprise", "written_by"]
    names += ["generations", "cells", "translators", "training_step", "tiny_model"]
    names += ["decode_tree", "fork"]
    names += ["attention", "attention_sheet", "head_roles", "attribution", "ablate", "replace_token", "inside"]
    assert [tool.name for tool in tools] == names
    for tool in tools:
        assert tool.description
        assert all(parameter.get("description") for parameter in tool.inputSchema["properties"].values())


def test_a_tool_answers_and_refuses_in_one_sentence(server: Server) -> None:
    answered = with_tools(server, lambda session: session.call_tool("sentiment", {"text": "Lovely."}))
    assert not answered.isError
    assert json.loads(text_of(answered)) == answered.structuredContent
    assert answered.structuredContent is not None
    assert answered.structuredContent["label"] == "positive"
    refused = with_tools(server, lambda session: session.call_tool("sentiment", {"text": ""}))
    assert refused.isError
    assert text_of(refused) == "The text is empty. Please type something first."
    assert refused.structuredContent is None


def test_the_shared_session_of_mcp_callers_is_not_read_to_any_of_them(server: Server) -> None:
    told = with_tools(server, lambda session: session.call_tool("session_runs", {}))
    assert told.isError
    assert "needs a session" in text_of(told)


def test_what_python_and_json_write_differently_arrives_as_json(server: Server) -> None:
    """None, truth values, quotation marks and other scripts."""
    asked = {"question": "Who said “it's true”?", "context": "Zoë said: “it's true”, True and None.", "top_k": 1}
    answered = with_tools(server, lambda session: session.call_tool("question_answering", asked))
    assert json.loads(text_of(answered)) == answered.structuredContent
    written = {"prompt": "The lamp", "max_new_tokens": 3, "strategy": "greedy"}
    answered = with_tools(server, lambda session: session.call_tool("completion", written))
    assert answered.structuredContent is not None
    assert [token["drawn"] for token in answered.structuredContent["tokens"]] == [None] * 3
