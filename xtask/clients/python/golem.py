"""Every tool and every resource of the golem-shaped example, with whatever client it is given.

Each tool has a case of its own with what it must answer; then all are called once more with what their
schemas call valid, and with what they call incomplete. A line is printed for every part.
"""

import json
import pathlib

import jsonschema
from walk import Refused, check, fail, text_of

# What is known of tools that never end by themselves.
ENDLESS = {"worker_flood": "was stopped", "worker_hang": "was stopped"}

NAME = {"name": "w"}
REDEPLOYED = {"deployed": True, "redeploy_workers": False, "redeploy_http_api": False}

# Arguments of which a schema does not say all: values with a form of their own; and global flags that exclude
# each other, for which clap cannot be asked. Such calls are refused in words, before anything runs.
FORMED = {"scan_cursor", "param", "env"}
EXCLUSIVE = {"local", "cloud"}

# In this order: what is made is there for the next ones. The tool, its arguments, and what is among the
# answer; `None` where the answer is text.
CASES = [
    ("version", {}, None),
    ("completion", {"shell": "zsh"}, {"script": "# for Zsh"}),
    ("app_new", {"application_name": "shop", "language": ["rust", "ts"]}, {"name": "shop", "languages": ["rust", "ts"]}),
    ("app_diagnose", {"component_name": ["a", "b"]}, {"components": ["a", "b"], "problems": []}),
    ("component_templates", {"filter": "rust"}, {"result": ["rust", "rust/http"]}),
    ("component_new", {"component_template": "rust", "component_name": "c"}, {"name": "c", "template": "rust"}),
    ("component_list", {"component_name": ""}, {"result": [{"name": "c", "template": "rust", "version": 0}]}),
    ("component_get", {"component_name": "c", "version": 18446744073709551615}, {"version": 18446744073709551615}),
    ("component_build", {"component_name": ["c"], "step": ["link"]}, {"result": [{"name": "c", "steps": ["link"]}]}),
    ("component_deploy", {"redeploy_all": True}, {"result": [{"redeploy_workers": True, "redeploy_http_api": True}]}),
    ("component_add-dependency", {"component_name": "c", "target_component_path": "./-x"}, {"dependency": "./-x"}),
    ("component_update-workers", {"update_mode": "manual", "await": True}, {"result": [{"mode": "manual", "awaited": True}]}),
    ("component_redeploy-workers", {"component_name": ["c"]}, {"result": [{"workers": "redeployed"}]}),
    ("component_diagnose", {}, {"components": []}),
    ("component_manifest-trace", {"component_name": ["c"]}, {"components": ["c"]}),
    ("component_plugin_install", {"name": "c", "plugin_name": "p", "plugin_version": "1", "priority": -5, "param": ["k=v=w"]},
     {"name": "c/p", "priority": -5, "params": {"k": "v=w"}}),
    ("component_plugin_get", {"name": "c"}, {"result": [{"name": "c/p", "plugin_version": "1"}]}),
    ("component_plugin_update", {"name": "c", "installation_id": "p", "priority": 7}, {"priority": 7, "params": {}}),
    ("component_plugin_uninstall", {"name": "c", "installation_id": "p"}, {"deleted": {"name": "c/p"}}),
    ("app_build", {"force_build": True}, {"result": [{"built": True, "forced": True}]}),
    ("app_deploy", {"update_workers": "auto"}, {"result": [{"update_workers": "auto", **REDEPLOYED}]}),
    ("app_update-workers", {}, {"result": [{"workers": "updated", "mode": "auto", "awaited": False}]}),
    ("app_redeploy-workers", {}, {"result": [{"workers": "redeployed"}]}),
    ("app_clean", {}, {"result": [{"built": False}]}),
    ("component_clean", {"component_name": ["c"]}, {"result": [{"name": "c", "built": False}]}),
    ("worker_new", {"worker_name": "w", "arguments": ["--a", "b"], "env": ["K=V"]}, {**NAME, "arguments": ["--a", "b"], "env": {"K": "V"}}),
    ("worker_invoke", {"worker_name": "w", "function_name": "echo", "arguments": ["-1", "--x=y", ""]},
     {"worker": "w", "function": "echo", "result": ["-1", "--x=y", ""], "enqueued": False}),
    ("worker_get", {"worker_name": "w"}, {**NAME, "status": "running"}),
    ("worker_list", {"filter": ["w"], "scan_cursor": "0/0", "max_count": 1, "precise": True}, {"workers": [NAME], "precise": True}),
    ("worker_stream", {"worker_name": "w", "lines": 2}, {"result": ['echo(["-1","--x=y",""]) = ["-1","--x=y",""]']}),
    ("worker_update", {"worker_name": "w", "mode": "manual", "target_version": 3}, {"mode": "manual", "version": 3}),
    ("worker_interrupt", {"worker_name": "w"}, {"status": "interrupted"}),
    ("worker_resume", {"worker_name": "w"}, {"status": "running"}),
    ("worker_simulate-crash", {"worker_name": "w"}, {"status": "crashed"}),
    ("worker_oplog", {"worker_name": "w", "from": 1}, {"entries": [{"index": 1, "function": "echo"}], "from": 1, "query": None}),
    ("worker_revert", {"worker_name": "w", "number_of_invocations": 2}, {"name": "w", "reverted": 1}),
    ("worker_cancel-invocation", {"worker_name": "w", "idempotency_key": "-"}, {"cancelled": "-"}),
    ("worker_files", {"worker_name": "w"}, {"path": "/", "files": []}),
    ("worker_activate-plugin", {"worker_name": "w", "plugin_name": "p"}, {"plugin": "p"}),
    ("worker_deactivate-plugin", {"worker_name": "w", "plugin_name": "p"}, {"plugin": None}),
    ("worker_fork", {}, {}),
    ("worker_delete", {"worker_name": "w"}, {"deleted": NAME}),
    ("agent-type_list", {}, {"result": []}),
    ("agent-type_get", {"agent_type_name": "t"}, "there is no agent type \"t\""),
    ("api_definition_deploy", {"http_api_definition_name": "d"}, {"result": [{"name": "d", **REDEPLOYED}]}),
    ("api_deploy", {}, {"result": [{"name": "d", "deployed": True}]}),
    ("api_definition_get", {"id": "d", "version": "1"}, {"definition": {"name": "d"}, "version": "1"}),
    ("api_definition_list", {"id": "d", "project": "p"}, {"definitions": [{"name": "d"}], "project": "p"}),
    ("api_definition_export", {"id": "d", "version": "1", "form": "json"}, {"form": "Json"}),
    ("api_definition_delete", {"id": "d", "version": "1"}, {"deleted": {"name": "d"}}),
    ("api_deployment_deploy", {"host_or_site": "a.b"}, {"result": [{"name": "a.b", **REDEPLOYED}]}),
    ("api_deployment_get", {"site": "a.b"}, {"deployment": {"name": "a.b"}}),
    ("api_deployment_list", {"definition": "d"}, {"deployments": [{"name": "a.b"}], "definition": "d"}),
    ("api_deployment_delete", {"site": "a.b"}, {"deleted": {"name": "a.b"}}),
    ("api_security-scheme_get", {"security_scheme_id": "s", "project": "p"}, {"scheme": "s", "project": "p"}),
    ("api_cloud_domain_new", {"project": "p", "domain_name": "a.example"}, {"name": "a.example", "project": "p"}),
    ("api_cloud_domain_get", {"project": "p"}, {"result": [{"name": "a.example", "project": "p"}]}),
    ("api_cloud_domain_delete", {"project": "p", "domain_name": "a.example"}, {"deleted": {"name": "a.example"}}),
    ("plugin_register", {"manifest": "m.yaml", "project": "p", "component": "c"}, {"name": "m.yaml", "scope": "p/c"}),
    ("plugin_list", {"global": True}, {"plugins": [{"name": "m.yaml"}], "scope": "global"}),
    ("plugin_get", {"plugin": "m.yaml"}, {"scope": "p/c"}),
    ("plugin_unregister", {"plugin": "m.yaml"}, {"deleted": {"name": "m.yaml"}}),
    ("cloud_project_new", {"project_name": "p", "description": "a\nb"}, {"name": "p", "description": "a\nb"}),
    ("cloud_project_list", {"project_name": "p"}, {"result": [{"name": "p"}]}),
    ("cloud_project_get-default", {}, {"name": "default"}),
    ("cloud_project_plugin_install", {"name": "p", "plugin_name": "x", "plugin_version": "2", "priority": 1}, {"name": "p/x"}),
    ("cloud_project_plugin_get", {"name": "p"}, {"result": [{"name": "p/x"}]}),
    ("cloud_project_plugin_update", {"name": "p", "installation_id": "x", "priority": 2}, {"priority": 2}),
    ("cloud_project_plugin_uninstall", {"name": "p", "installation_id": "x"}, {"deleted": {"name": "p/x"}}),
    ("server_clean", {}, {"removed": 0}),
]  # fmt: skip

BLOCKED = [
    "profile list", "profile new", "profile get", "profile switch", "profile delete", "profile config set-format",
    "cloud token list", "cloud token new", "cloud token delete", "cloud account get", "cloud account new",
    "cloud account update", "cloud account delete", "cloud account grant get", "cloud account grant new",
    "cloud account grant delete", "cloud project grant", "cloud project policy new", "cloud project policy get",
    "account get", "account add", "grant get", "grant add", "grant delete", "api security-scheme create",
    "api cloud certificate get", "api cloud certificate new", "api cloud certificate delete", "server run",
]  # fmt: skip
UNKNOWN = ["nothing", "component", "cloud token", "profiles list", "component_list ", "Component_List"]


def among(part, whole):
    """Whether all of one is in the other: fields of objects, and lists entry by entry."""
    match part, whole:
        case dict(), dict():
            return all(name in whole and among(value, whole[name]) for name, value in part.items())
        case list(), list():
            return len(part) == len(whole) and all(map(among, part, whole))
        case _:
            return type(part) is type(whole) and part == whole


def ran(answer):
    """Whether the program was run for a call."""
    return "clap-serve/run" in answer.get("_meta", {})


def spellings(path):
    tool = path.replace(" ", "_")
    return [path, tool, path.upper(), tool.upper(), tool.capitalize(), path.replace(" ", "  "), tool + " ", f"golem {path}"]


def example(schema):
    """A value that a schema calls valid."""
    if "anyOf" in schema:
        return example(schema["anyOf"][0])
    if "enum" in schema:
        return schema["enum"][-1]
    match schema.get("type"):
        case "integer":
            return max(schema.get("minimum", 0), 1)
        case "boolean":
            return True
        case "array":
            return [example(schema["items"])] * max(schema.get("minItems", 0), 1)
        case _:
            return "some"


class Golem:
    """The walk of one agent; the settings are the chore's."""

    def __init__(self, agent, settings):
        self.agent, self.settings = agent, settings
        self.calls = self.reads = 0

    async def whole(self):
        agent = self.agent
        check(f"connected with {agent.protocol}", agent.protocol == self.settings["protocol"], agent.protocol)
        check("the server says who it is", agent.server["name"] == "golem", agent.server)
        self.tools = {tool["name"]: tool for tool in await agent.list("tools")}
        await self.cases()
        await self.endless()
        await self.generated()
        await self.incomplete()
        await self.absent()
        await self.resources()
        print(f"   {len(self.tools)} tools in {self.calls} calls, {self.reads} resources read", flush=True)

    async def call(self, tool, arguments):
        self.calls += 1
        try:
            return await self.agent.call(tool, arguments)
        except Refused as refused:
            fail(f"{tool} {json.dumps(arguments)} is an error of the protocol: {refused}")

    async def cases(self):
        cased = {tool for tool, _, _ in CASES} | ENDLESS.keys()
        check(f"each of the {len(self.tools)} tools has a case", cased == self.tools.keys(), sorted(cased ^ self.tools.keys()))
        for tool, arguments, expected in CASES:
            form = {} if tool == "version" else {"format": "json"}
            answer = await self.call(tool, arguments | form)
            match expected:
                case None:
                    holds = not answer.get("isError") and text_of(answer).startswith("golem ")
                case str():
                    holds = answer["isError"] and expected in text_of(answer)
                case _:
                    holds = not answer.get("isError") and among(expected, answer.get("structuredContent"))
            if not holds:
                fail(f"{tool} {json.dumps(arguments)} answers {json.dumps(answer)}, not {json.dumps(expected)}")
        check(f"{len(CASES)} tools answer what they should", True)

    async def endless(self):
        for tool, said in ENDLESS.items():
            answer = await self.call(tool, {})
            check(f"{tool} is ended", answer["isError"] and said in text_of(answer), text_of(answer)[:200])

    def valid(self, tool):
        """Few arguments that the tool's schema calls valid, and many."""
        schema = self.tools[tool]["inputSchema"]
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
        properties = schema["properties"]
        few = {name: example(properties[name]) for name in schema.get("required", [])}
        if not validator.is_valid(few):
            few = next(more for name in properties if validator.is_valid(more := few | {name: example(properties[name])}))
        many = few
        for name in properties:
            if validator.is_valid(more := many | {name: example(properties[name])}):
                many = more
        return few, many

    async def generated(self):
        count = 0
        for tool in self.tools.keys() - ENDLESS.keys():
            for arguments in self.valid(tool):
                given = {name: value for name, value in arguments.items() if name not in FORMED | EXCLUSIVE}
                answer = await self.call(tool, given)
                if tool != "version" and not ran(answer):
                    fail(f"{tool} {json.dumps(given)} is valid, and does not run: {text_of(answer)}")
                count += 1
        check(f"{count} calls that schemas call valid are run", count > 100, count)
        for wrong in [dict.fromkeys(EXCLUSIVE, True), {"scan_cursor": "some"}]:
            answer = await self.call("worker_list", wrong)
            named = all(name.replace("_", "-") in text_of(answer) for name in wrong)
            check(f"{sorted(wrong)} is refused in words, and not run", answer["isError"] and named and not ran(answer), answer)

    async def incomplete(self):
        count = 0
        for tool, declared in self.tools.items():
            few, _ = self.valid(tool)
            for name in declared["inputSchema"].get("required", []):
                answer = await self.call(tool, {other: value for other, value in few.items() if other != name})
                if not answer.get("isError") or name not in text_of(answer):
                    fail(f"{tool} without {name}: {json.dumps(answer)}")
                count += 1
        check(f"{count} missing arguments are named", count > 40, count)

    async def absent(self):
        names = [name for path in BLOCKED for name in spellings(path)] + UNKNOWN
        for name in names:
            answer = await self.call(name, {})
            if answer.get("isError") is not True or text_of(answer) != f"Error: Tool '{name}' not found":
                fail(f"{name!r} is answered {json.dumps(answer)}")
        mark = pathlib.Path(self.settings["cwd"], ".golem-blocked-ran")
        check(f"{len(names)} names of what is blocked or unknown are not found", not mark.exists(), mark.name)

    async def resources(self):
        resources = {resource["uri"]: resource for resource in await self.agent.list("resources")}
        for uri, resource in resources.items():
            [content] = await self.agent.read(uri)
            self.reads += 1
            if not content.get("text"):
                fail(f"{uri} holds nothing")
            if uri.startswith("file://") and len(content["text"].encode()) != resource["size"]:
                fail(f"{uri} is not as long as it says")
        found = {resource["name"]: uri for uri, resource in resources.items() if uri.startswith("file://")}
        expected = self.settings["manifests"]
        check("the manifests are listed by their names", found.keys() == expected.keys(), sorted(found))
        for name, text in expected.items():
            [content] = await self.agent.read(found[name])
            check(f"{name!r} is read", content["text"] == text, content)
        help = [uri for uri in resources if uri.startswith("help://")]
        check(f"{len(help)} pages of help are read", len(help) >= len(self.tools) - 1, help)
        for uri in [found["golem.yaml"] + "/../.env", found["golem.yaml"].replace("golem.yaml", ".env"), "file:///etc/passwd"]:
            try:
                fail(f"{uri} is read: {await self.agent.read(uri)}")
            except Refused:
                pass
        check("no other file is read", True)
