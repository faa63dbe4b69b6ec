"""What all frameworks are asked: whether they load every tool as it is, and call one."""

import json
import sys

from walk import TOOLS as ALL
from walk import check

TOOLS = sorted(ALL)


def names(tools):
    return sorted(tool.name for tool in tools)


def sql(settings):
    return {"database": settings["database"], "sql": f"select count(*) from {settings['table']}"}


async def run(walks):
    settings = json.loads(sys.argv[1])
    for walk in walks:
        await walk(settings)
