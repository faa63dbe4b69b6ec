"""What all frameworks are asked: whether they load every tool as it is, and call one."""

import json
import shutil
import sys
import tempfile

from walk import TOOLS as ALL
from walk import check

TOOLS = sorted(ALL)


def names(tools):
    return sorted(tool.name for tool in tools)


def sql(settings):
    return {"database": settings["database"], "sql": f"select count(*) from {settings['table']}"}


def apart(settings, folder):
    """The settings with a copy of the data folder: a server of one walk may still end when the next one starts."""
    if settings["transport"] != "stdio" or "--data" not in settings["args"]:
        return settings
    place = settings["args"].index("--data") + 1
    data = shutil.copytree(settings["args"][place], folder)
    return {**settings, "args": [*settings["args"][:place], data, *settings["args"][place + 1 :]]}


async def run(walks):
    settings = json.loads(sys.argv[1])
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        own = [apart(settings, f"{folder}/{number}") for number in range(len(walks))]
        for walk, settings in zip(walks, own, strict=True):
            await walk(settings)
