"""An agent's whole path through a node's tools, walked with whatever client it is given.

`v1.py` and `v2.py` bring the client: the two lines of the official package. A line is printed for
every check; the first that fails ends the walk.
"""

import asyncio
import contextlib
import importlib
import json
import os
import pathlib
import sys
import time
import urllib.request

# How long anything may take that is waited for: far more than it needs, so that no busy machine fails.
PATIENCE_S = 60
# How often it is looked whether it has come.
LOOK_S = 0.05
# How much is shown of an answer that is wrong.
SAID_MAX = 4000

TOOLS = {
    "list_databases", "list_tables", "list_database_schema", "get_schema", "sample", "query", "sql",
    "query_with_increments", "fetch_rows", "explain", "list_nodes", "data_location", "monitor_nodes",
    "list_policies", "node_status", "server_info", "job_status", "cancel_job", "help",
}  # fmt: skip

# Every row with every other, three times over: nobody waits for its end.
ENDLESS = "select count(*) from {table} a, {table} b, {table} c where a.n + b.n + c.n < 0"

WRITES = [
    "delete from {table}",
    "drop table {table}",
    "insert into {table} (n) values (1)",
    "update {table} set n = 0",
    "copy (select * from {table}) to '/tmp/rows.csv'",
    "select 1; drop table {table}",
    "create table other as select * from {table}",
]

NEW_TOOL = """
  - name: rows_of_device
    description: How many rows a device has.
    command:
      sql: SELECT count(*) AS n FROM {t:table} WHERE device_name = {device}
      database: "{database}"
      headers: {destination: network}
    input_schema:
      properties:
        database: {type: string}
        table: {type: string}
        device: {type: string}
      required: [database, table, device]
"""


class Refused(Exception):
    """An answer that is an error of the protocol."""

    def __init__(self, code, message):
        super().__init__(f"{code}: {message}")
        self.code = code


def check(what, holds, seen=None):
    """Says that something holds, or ends the walk."""
    if not holds:
        fail(f"{what}: {seen if isinstance(seen, str) else json.dumps(seen)}")
    print(f"   ok {what}", flush=True)


def fail(why):
    """Ends the walk at once: the clients' groups of tasks would bury what is said here."""
    print(f"   FAILED {why[:SAID_MAX]}", flush=True)
    os._exit(1)


async def until(what, look):
    """Looks until there is something, and gives it."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if found := await look():
            return found
        await asyncio.sleep(LOOK_S)
    fail(f"{what}: not after {PATIENCE_S} s")


def text_of(answer):
    return "\n".join(block.get("text", "") for block in answer["content"])


def fetched(url):
    with urllib.request.urlopen(url, timeout=PATIENCE_S) as reply:
        return reply.read()


class Walk:
    """The walk of one agent; the settings are the chore's."""

    def __init__(self, agent, settings):
        self.agent = agent
        self.settings = settings
        self.database, self.table = settings["database"], settings["table"]
        self.rows = settings["rows"]
        self.tools_file = pathlib.Path(settings["tools"])

    async def whole(self):
        await self.connected()
        await self.discovers()
        await self.others()
        await self.queries()
        await self.pages()
        await self.resources()
        await self.tail()
        await self.prompts()
        await self.streams()
        await self.cancels()
        await self.errors()
        await self.reloads()

    async def value(self, tool, **arguments):
        """What a tool answers that gives a value."""
        answer = await self.agent.call(tool, arguments)
        check(f"{tool} answers", not answer.get("isError"), answer)
        return answer["structuredContent"]["result"]

    async def page(self, tool, **arguments):
        """What a tool answers that gives rows."""
        answer = await self.agent.call(tool, arguments)
        check(f"{tool} answers", not answer.get("isError"), answer)
        page = answer["structuredContent"]
        check(f"{tool} says how many rows", page["row_count"] == len(page["rows"]), page)
        return page, answer

    async def connected(self):
        agent = self.agent
        check(f"connected with {agent.protocol}", agent.protocol == self.settings["protocol"], agent.protocol)
        check("the server says who it is", agent.server["name"] == "edgemere", agent.server)
        check("the server says how to begin", "list_database_schema" in (agent.instructions or ""), agent.instructions)
        if agent.can_ping:
            await agent.ping()
            check("ping", True)

    async def discovers(self):
        tools = {tool["name"]: tool for tool in await self.agent.list("tools")}
        check("tools/list has the shipped tools", set(tools) == TOOLS, sorted(tools))
        check("every tool is described", all(tool["description"] for tool in tools.values()))
        writing = {name for name, tool in tools.items() if not tool["annotations"]["readOnlyHint"]}
        check("only one tool changes anything", writing == {"cancel_job"}, sorted(writing))
        databases = await self.value("list_databases")
        check("the database is there", self.database in databases, databases)
        tables = await self.value("list_tables", database=self.database)
        check("the table is there", self.table in tables, tables)
        schema = await self.value("get_schema", database=self.database, table=self.table)
        names = [column["name"] for column in schema["columns"]]
        check("the columns are there", set(names) == {"timestamp", "value", "device_name", "n"}, names)
        check("so are rows, times and nodes", schema["rows"] == self.rows and schema["time"]["from"] and schema["nodes"], schema)
        check("and it is short", len(json.dumps(schema)) < 1024, schema)

    async def others(self):
        """Every tool that nothing else needs. Clients refuse answers that are not as the tool's schema says."""
        for tool, arguments in self.settings["calls"]:
            answer = await self.agent.call(tool, arguments)
            check(f"{tool} answers", not answer.get("isError") and answer["structuredContent"], answer)
            provenance = answer["structuredContent"]["provenance"]
            check(f"{tool} says where it comes from", provenance["answered"] and provenance["complete"], provenance)

    async def queries(self):
        page, answer = await self.page(
            "query", database=self.database, table=self.table,
            select=["device_name", "count(*) as n", "avg(value) as mean"],
            group_by=["device_name"], order_by=["device_name"],
        )  # fmt: skip
        counts = {row[0]: row[1] for row in page["rows"]}
        expected = {f"sensor-{n}": self.rows // 10 for n in range(10)}
        check("rows are grouped", counts == expected, page)
        check("columns are named", page["columns"] == ["device_name", "n", "mean"], page["columns"])
        check("the text says the same", json.loads(text_of(answer)) == page, answer)
        provenance = page["provenance"]
        check("all nodes answered", sorted(provenance["answered"]) == self.settings["nodes"], provenance)
        check("all rows were read", provenance["rows_scanned"] == self.rows, provenance)
        check("nobody is missing", provenance["complete"] and "missing" not in provenance, provenance)

    async def pages(self):
        sql = f"select n, device_name, value from {self.table} order by n"
        page, answer = await self.page("sql", database=self.database, sql=sql)
        check("what does not fit is said", page["truncated"] and len(page["rows"]) < self.rows, page["row_count"])
        links = [block for block in answer["content"] if block["type"] == "resource_link"]
        seen, pages = [row[0] for row in page["rows"]], 1
        while page.get("next_cursor"):
            page, _ = await self.page("fetch_rows", cursor=page["next_cursor"])
            seen += [row[0] for row in page["rows"]]
            pages += 1
        check(f"{pages} pages have all rows, each once", seen == list(range(self.rows)), f"{len(seen)} rows")
        check("the last page says so", page["truncated"] is False, page["truncated"])
        check("there is a link to all rows", len(links) == 1, answer["content"])
        await self.exported(links[0]["uri"])

    async def exported(self, link):
        get = lambda form: asyncio.to_thread(fetched, link.replace("format=ndjson", f"format={form}"))
        lines = (await get("ndjson")).decode().splitlines()
        numbers = [json.loads(line)["n"] for line in lines]
        check("the link gives all rows as ndjson", numbers == list(range(self.rows)), f"{len(lines)} lines")
        lines = (await get("csv")).decode().splitlines()
        check("… as csv", lines[0] == "n,device_name,value" and len(lines) == self.rows + 1, lines[:2])
        arrow, parquet = await get("arrow"), await get("parquet")
        check("… as arrow", arrow[:4] == b"\xff\xff\xff\xff", arrow[:8].hex())
        check("… as parquet", parquet[:4] == b"PAR1" and parquet[-4:] == b"PAR1", parquet[:4].hex())
        if not self.settings["pyarrow"]:
            return
        import pyarrow
        import pyarrow.parquet

        for name, table in [
            ("arrow", pyarrow.ipc.open_stream(arrow).read_all()),
            ("parquet", pyarrow.parquet.read_table(pyarrow.BufferReader(parquet))),
        ]:
            numbers = table.column("n").to_pylist()
            check(f"pyarrow reads all rows of the {name}", numbers == list(range(self.rows)), f"{table.schema}")

    async def resources(self):
        uri = f"edgemere://{self.database}/{self.table}"
        listed = [resource["uri"] for resource in await self.agent.list("resources")]
        check("the table is a resource", uri in listed, listed)
        check("the tools are a resource", "edgemere://tools.yaml" in listed, listed)
        table = json.loads((await self.agent.read(uri))[0]["text"])
        check("it has columns and a few rows", len(table["sample"]["rows"]) == 5 and table["columns"], table)
        text = (await self.agent.read("edgemere://tools.yaml"))[0]["text"]
        check("the tools can be read", "list_databases" in text, text)
        with contextlib.suppress(Refused):
            contents = await self.agent.read(f"edgemere://{self.database}/nothing")
            check("a table that is not there is no resource", False, contents)
        templates = [template["uriTemplate"] for template in await self.agent.list("resourceTemplates")]
        check("tables have a template", "edgemere://{database}/{table}" in templates, templates)
        complete = lambda hole, start, given=None: self.agent.complete(
            "edgemere://{database}/{table}", hole, start, given or {}
        )
        names = await complete("database", self.database[:2])
        check("databases are completed", self.database in names, names)
        names = await complete("table", self.table[:3], {"database": self.database})
        check("tables are completed", self.table in names, names)

    async def tail(self):
        uri = f"edgemere://{self.database}/{self.table}_tail/tail"
        # A node that the client has started says in its data where it listens.
        if self.settings["rest"] is None:
            bound = json.loads(pathlib.Path(self.settings["data"], "node.json").read_text())
            self.settings["rest"] = f"http://{bound['http']}"
        self.store(f"{self.table}_tail", [{"n": 0}])
        await until("the new table", lambda: self.known(f"{self.table}_tail"))
        async with self.agent.watching([uri]) as events:
            row = 1

            # The first look at the table may come after the first row.
            async def told():
                nonlocal row
                self.store(f"{self.table}_tail", [{"n": row}])
                row += 1
                with contextlib.suppress(asyncio.TimeoutError):
                    return await asyncio.wait_for(events.get(), 3)

            event = await until("an update", told)
        check("a new row is told to who watches the table", event == uri, event)
        tail = json.loads((await self.agent.read(uri))[0]["text"])
        check("the tail has it", tail["rows"], tail)

    async def known(self, table):
        answer = await self.agent.call("sql", {"database": self.database, "sql": f"select n from {table}"})
        return not answer.get("isError")

    def store(self, table, rows):
        headers = {"User-Agent": "AnyLog/1.23", "type": "json", "dbms": self.database, "table": table}
        body = json.dumps(rows).encode()
        request = urllib.request.Request(self.settings["rest"], body, headers, method="PUT")
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as reply:
            reply.read()

    async def prompts(self):
        names = {prompt["name"] for prompt in await self.agent.list("prompts")}
        check("prompts/list", names == {"explore_network", "investigate_device", "daily_report"}, sorted(names))
        messages = await self.agent.prompt("investigate_device", {"device": "sensor-7"})
        check("prompts/get", "sensor-7" in messages[0]["content"]["text"], messages)

    async def streams(self):
        told = []

        async def progress(done, total, message):
            told.append((done, json.loads(message)))

        sql = f"select n from {self.table}"
        arguments = {"database": self.database, "sql": sql, "stream": True}
        answer = await self.agent.call("sql", arguments, progress)
        check("a stream is answered", not answer.get("isError"), answer)
        check("the answer counts the rows", answer["structuredContent"]["row_count"] == self.rows, answer)
        data = [message for _, message in told if message["type"] == "data"]
        numbers = sorted(row["n"] for message in data for row in message["rows"])
        check(f"{len(data)} messages have all rows", numbers == list(range(self.rows)), f"{len(numbers)} rows")
        check("at most a hundred rows at once", max(len(message["rows"]) for message in data) <= 100)
        check("the last says that it was all", told[-1][1]["type"] == "complete", told[-1])
        steps = [done for done, _ in told]
        check("progress grows", all(a < b for a, b in zip(steps, steps[1:])), steps)

    async def running(self):
        """The long queries that run."""
        jobs = (await self.agent.call("job_status", {}))["structuredContent"]["result"]
        return [job for job in jobs if job["status"] == "Running" and "a.n + b.n" in job["sql"]]

    async def begun(self, arguments):
        """A query that runs, and its number, once it does."""
        call = await self.agent.begin("sql", arguments)

        async def look():
            if call.task.done():
                fail(f"the query does not run: {call.task.result()}")
            return await self.running()

        jobs = await until("the query", look)
        return call, int(jobs[0]["job"])

    async def cancels(self):
        endless = {"database": self.database, "sql": ENDLESS.format(table=self.table)}
        call, _ = await self.begun(endless)
        check("a long query runs", True)
        await call.cancel()
        await until("its end", self.idle)
        check("a cancelled call ends its query", True)

        call, job = await self.begun(endless)
        stopped = await self.agent.call("cancel_job", {"job": job})
        check("cancel_job answers", not stopped.get("isError"), stopped)
        answer = await asyncio.wait_for(call.answer(), PATIENCE_S)
        check("the stopped query says so", answer.get("isError") is True, answer)
        await until("its end", self.idle)

    async def idle(self):
        return not await self.running()

    async def errors(self):
        try:
            answer = await self.agent.call("no_such_tool", {})
        except Refused as refused:
            check("an unknown tool is refused", refused.code == -32602, str(refused))
        else:
            check("an unknown tool is refused", False, answer)
        wrong = {"database": 7, "query": "select 1"}
        said = await self.failure("sql", wrong)
        named = all(word in said for word in ["database", "query", "sql"])
        check("wrong arguments are all named", named, said)
        said = await self.failure("sql", self.asked(f"select n from {self.table[:-1]}"))
        check("a near table is named", self.table in said, said)
        said = await self.failure("sql", self.asked(f"select nn from {self.table}"))
        check("the columns are named", "device_name" in said, said)
        said = await self.failure("fetch_rows", {"cursor": "0" * 32})
        check("an unknown cursor is refused in words", "cursor" in said, said)
        for write in WRITES:
            write = write.format(table=self.table)
            said = await self.failure("sql", self.asked(write))
            check(f"refused: {write}", "internal" not in said, said)
        page, _ = await self.page("sql", **self.asked(f"select count(*) from {self.table}"))
        check("no row is gone", page["rows"] == [[self.rows]], page)

    def asked(self, sql):
        return {"database": self.database, "sql": sql}

    async def failure(self, tool, arguments):
        answer = await self.agent.call(tool, arguments)
        if answer.get("isError") is not True:
            check(f"{tool} fails", False, answer)
        return text_of(answer)

    async def reloads(self):
        shipped = self.tools_file.read_text()
        async with self.agent.watching([]) as events:
            self.tools_file.write_text(shipped.replace("\ntoolsets:", f"{NEW_TOOL}\ntoolsets:", 1))
            await self.told(events, TOOLS | {"rows_of_device"})
            check("a change of the file is told, and the new tool is there", True)
            page, _ = await self.page(
                "rows_of_device", database=self.database, table=self.table, device="sensor-3"
            )
            check("the new tool works", page["rows"] == [[self.rows // 10]], page)
            self.tools_file.write_text(shipped)
            await self.told(events, TOOLS)
            check("a tool that is taken away is gone", True)

    async def told(self, events, expected):
        """Lists the tools whenever a change of them is told, until they are the expected ones."""
        names = None
        while names != expected:
            try:
                event = await asyncio.wait_for(events.get(), PATIENCE_S)
            except asyncio.TimeoutError:
                fail(f"no change is told after {PATIENCE_S} s, the tools are {names}")
            if event == "tools":
                names = {tool["name"] for tool in await self.agent.list("tools")}


def run(open_agent):
    """Walks with the agent that a function opens, with the settings of the first argument."""
    settings = json.loads(sys.argv[1])
    # Another module has the walk through another server.
    walk = importlib.import_module("golem").Golem if settings.get("walk") == "golem" else Walk

    async def whole():
        async with open_agent(settings) as agent:
            await walk(agent, settings).whole()

    asyncio.run(whole())
