"""Agents' frameworks on the second line of the official package: what each makes of the tools, and a call."""

import asyncio

import fastmcp
import frameworks
from frameworks import check
from google.genai import _mcp_utils, types
from pydantic_ai.mcp import MCPToolset


def transport(settings):
    """Where fastmcp finds the server."""
    if settings["transport"] == "stdio":
        from fastmcp.client.transports import StdioTransport

        return StdioTransport(command=settings["command"], args=settings["args"], cwd=settings["cwd"])
    return settings["url"]


async def fast(settings):
    """fastmcp."""
    async with fastmcp.Client(transport(settings)) as client:
        tools = await client.list_tools()
        check("fastmcp loads all tools", frameworks.names(tools) == frameworks.TOOLS, frameworks.names(tools))
        answer = await client.call_tool("sql", frameworks.sql(settings))
        check("a call is answered", answer.structured_content["rows"] == [[settings["rows"]]], answer)


async def google(settings):
    """google-genai: what it sends to the model is made of the tools that a session lists."""
    async with fastmcp.Client(transport(settings)) as client:
        tools = await client.list_tools()
    made = _mcp_utils.mcp_to_gemini_tools(tools)
    declared = [one for tool in made for one in tool.function_declarations]
    check("google-genai loads all tools", frameworks.names(declared) == frameworks.TOOLS, frameworks.names(declared))
    for one in declared:
        types.FunctionDeclaration.model_validate(one.model_dump())
    check("each schema is one of Gemini's", True)


async def pydantic(settings):
    """pydantic-ai."""
    toolset = MCPToolset(transport(settings))
    async with toolset:
        tools = await toolset.list_tools()
        check("pydantic-ai loads all tools", frameworks.names(tools) == frameworks.TOOLS, frameworks.names(tools))
        answer = await toolset.direct_call_tool("sql", frameworks.sql(settings))
        check("a call is answered", str(settings["rows"]) in str(answer), answer)


asyncio.run(frameworks.run([fast, google, pydantic]))
