"""The walk with the second line of the official package: the revision without sessions, where the
transport has it."""

import asyncio
import contextlib

import mcp_types as types
import walk
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.subscriptions import ResourceUpdated, ToolsListChanged

MODERN = "2026-07-28"


def plain(value):
    """What was answered, by the names that it has on the wire."""
    return value.model_dump(by_alias=True, mode="json", exclude_none=True)


@contextlib.asynccontextmanager
async def opened(settings):
    match settings["transport"]:
        case "stdio":
            server = StdioServerParameters(command=settings["command"], args=settings["args"], cwd=settings["cwd"], env=settings.get("env"))
        case "http":
            server = settings["url"]
        case "sse":
            server = sse_client(settings["url"])
    agent = Agent()
    async with Client(server, message_handler=agent.heard) as client:
        agent.client = client
        agent.protocol, agent.instructions = client.protocol_version, client.instructions
        agent.server = plain(client.server_info)
        # There is no ping in the revision without sessions.
        agent.can_ping = agent.protocol != MODERN
        yield agent


class Agent:
    def __init__(self):
        self.events = asyncio.Queue()

    async def heard(self, message):
        """Without `subscriptions/listen`, changes are told to whoever has a session."""
        match message:
            case types.ResourceUpdatedNotification():
                self.events.put_nowait(str(message.params.uri))
            case types.ToolListChangedNotification():
                self.events.put_nowait("tools")

    async def ping(self):
        await self.client.send_ping()

    async def list(self, what):
        ask = {
            "tools": self.client.list_tools,
            "resources": self.client.list_resources,
            "resourceTemplates": self.client.list_resource_templates,
            "prompts": self.client.list_prompts,
        }[what]
        found, cursor = [], None
        while True:
            page = plain(await ask(cursor=cursor))
            found += page[what]
            cursor = page.get("nextCursor")
            if not cursor:
                return found

    async def call(self, tool, arguments, progress=None):
        with refusals():
            return plain(await self.client.call_tool(tool, arguments, progress_callback=progress))

    async def read(self, uri):
        with refusals():
            return plain(await self.client.read_resource(uri))["contents"]

    async def prompt(self, name, arguments):
        return plain(await self.client.get_prompt(name, arguments))["messages"]

    async def complete(self, template, hole, start, given):
        reference = types.ResourceTemplateReference(uri=template)
        found = await self.client.complete(reference, {"name": hole, "value": start}, given)
        return found.completion.values

    @contextlib.asynccontextmanager
    async def watching(self, uris):
        self.events = asyncio.Queue()
        if self.protocol != MODERN:
            for uri in uris:
                await self.client.subscribe_resource(uri)
            yield self.events
            for uri in uris:
                await self.client.unsubscribe_resource(uri)
            return
        filter = {"resource_subscriptions": uris} if uris else {"tools_list_changed": True}
        async with self.client.listen(**filter) as changes:
            listener = asyncio.create_task(self.listen(changes))
            yield self.events
            listener.cancel()

    async def listen(self, changes):
        async for change in changes:
            match change:
                case ResourceUpdated():
                    self.events.put_nowait(str(change.uri))
                case ToolsListChanged():
                    self.events.put_nowait("tools")

    async def begin(self, tool, arguments):
        return Call(asyncio.create_task(self.call(tool, arguments)))


class Call:
    """A call that is under way."""

    def __init__(self, task):
        self.task = task

    async def cancel(self):
        self.task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.task

    async def answer(self):
        return await self.task


@contextlib.contextmanager
def refusals():
    try:
        yield
    except MCPError as error:
        raise walk.Refused(error.error.code, error.error.message) from error


walk.run(opened)
