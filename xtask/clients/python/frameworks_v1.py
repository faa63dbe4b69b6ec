"""Agents' frameworks on the first line of the official package: what each makes of the tools, and a call."""

import asyncio

import frameworks
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp, MCPUtil
from frameworks import check
from langchain_mcp_adapters.client import MultiServerMCPClient


async def openai(settings):
    """openai-agents. A schema that its strict mode does not take, it takes without being strict, and says so."""
    if settings["transport"] == "stdio":
        params = {"command": settings["command"], "args": settings["args"], "cwd": settings["cwd"]}
        server = MCPServerStdio(params=params, client_session_timeout_seconds=60)
    else:
        server = MCPServerStreamableHttp(params={"url": settings["url"], "timeout": 60}, client_session_timeout_seconds=60)
    async with server:
        tools = await server.list_tools()
        made = [MCPUtil.to_function_tool(tool, server, convert_schemas_to_strict=True) for tool in tools]
        # It takes an object without properties for an open one; there is nothing in it to be strict about.
        loose = [tool.name for tool in made if not tool.strict_json_schema and tool.params_json_schema["properties"]]
        check("openai-agents loads all tools", frameworks.names(made) == frameworks.TOOLS, frameworks.names(made))
        check("each schema is taken in strict mode", not loose, loose)
        answer = await server.call_tool("sql", frameworks.sql(settings))
        check("a call is answered", str(settings["rows"]) in answer.content[0].text, answer)


async def langchain(settings):
    """langchain-mcp-adapters."""
    if settings["transport"] == "stdio":
        server = {"transport": "stdio", "command": settings["command"], "args": settings["args"], "cwd": settings["cwd"]}
    else:
        server = {"transport": "streamable_http", "url": settings["url"]}
    client = MultiServerMCPClient({"edgemere": server})
    tools = await client.get_tools()
    check("langchain loads all tools", frameworks.names(tools) == frameworks.TOOLS, frameworks.names(tools))
    sql = next(tool for tool in tools if tool.name == "sql")
    answer = await sql.ainvoke(frameworks.sql(settings))
    check("a call is answered", str(settings["rows"]) in str(answer), answer)


asyncio.run(frameworks.run([openai, langchain]))
