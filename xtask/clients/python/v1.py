"""The walk with the first line of the official package: revisions with sessions."""

import asyncio
import contextlib

import walk
from anyio import BrokenResourceError
from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from pydantic import AnyUrl

CHANGES = {"notifications/tools/list_changed": "tools"}


def plain(value):
    """What was answered, by the names that it has on the wire."""
    return value.model_dump(by_alias=True, mode="json", exclude_none=True)


@contextlib.asynccontextmanager
async def opened(settings):
    match settings["transport"]:
        case "stdio":
            server = StdioServerParameters(command=settings["command"], args=settings["args"], cwd=settings["cwd"], env=settings.get("env"))
            transport = stdio_client(server)
        case "http":
            transport = streamable_http_client(settings["url"])
        case "sse":
            transport = sse_client(settings["url"])
    is_over = False
    try:
        async with transport as streams:
            agent = Agent()
            async with ClientSession(streams[0], streams[1], message_handler=agent.heard) as session:
                agent.session = session
                hello = await session.initialize()
                agent.protocol, agent.instructions = hello.protocolVersion, hello.instructions
                agent.server = plain(hello.serverInfo)
                yield agent
                is_over = True
    except Exception as error:
        # The package stumbles over a message that comes while it closes.
        if not is_over or not all(isinstance(one, BrokenResourceError) for one in single(error)):
            raise


def single(error):
    """The errors in a group of them, or the one that it is."""
    if not hasattr(error, "exceptions"):
        return [error]
    return [one for inner in error.exceptions for one in single(inner)]


class Agent:
    can_ping = True

    def __init__(self):
        self.events = asyncio.Queue()

    async def heard(self, message):
        if not isinstance(message, types.ServerNotification):
            return
        message = message.root
        if message.method == "notifications/resources/updated":
            self.events.put_nowait(str(message.params.uri))
        elif message.method in CHANGES:
            self.events.put_nowait(CHANGES[message.method])

    async def ping(self):
        await self.session.send_ping()

    async def list(self, what):
        ask = {
            "tools": self.session.list_tools,
            "resources": self.session.list_resources,
            "resourceTemplates": self.session.list_resource_templates,
            "prompts": self.session.list_prompts,
        }[what]
        found, cursor = [], None
        while True:
            page = plain(await ask(params=types.PaginatedRequestParams(cursor=cursor)))
            found += page[what]
            cursor = page.get("nextCursor")
            if not cursor:
                return found

    async def call(self, tool, arguments, progress=None):
        with refusals():
            return plain(await self.session.call_tool(tool, arguments, progress_callback=progress))

    async def read(self, uri):
        with refusals():
            return plain(await self.session.read_resource(AnyUrl(uri)))["contents"]

    async def prompt(self, name, arguments):
        return plain(await self.session.get_prompt(name, arguments))["messages"]

    async def complete(self, template, hole, start, given):
        reference = types.ResourceTemplateReference(type="ref/resource", uri=template)
        found = await self.session.complete(reference, {"name": hole, "value": start}, given)
        return found.completion.values

    @contextlib.asynccontextmanager
    async def watching(self, uris):
        for uri in uris:
            await self.session.subscribe_resource(AnyUrl(uri))
        self.events = asyncio.Queue()
        yield self.events
        for uri in uris:
            await self.session.unsubscribe_resource(AnyUrl(uri))

    async def begin(self, tool, arguments):
        # The package does not say which id a request has: it counts them.
        request = self.session._request_id
        task = asyncio.create_task(self.call(tool, arguments))
        while self.session._request_id == request:
            await asyncio.sleep(0)
        return Call(self, request, task)


class Call:
    """A call that is under way."""

    def __init__(self, agent, request, task):
        self.agent, self.request, self.task = agent, request, task

    async def cancel(self):
        params = types.CancelledNotificationParams(requestId=self.request, reason="enough")
        notification = types.CancelledNotification(method="notifications/cancelled", params=params)
        await self.agent.session.send_notification(types.ClientNotification(notification))
        self.task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.task

    async def answer(self):
        return await self.task


@contextlib.contextmanager
def refusals():
    try:
        yield
    except McpError as error:
        raise walk.Refused(error.error.code, error.error.message) from error


walk.run(opened)
