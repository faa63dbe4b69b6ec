"""Makes ids.jsonl, the ids that Python gives to many policies, and prints the table of src/printable.rs.

Run with the Python of EdgeLake, 3.11: `python3 make.py > /tmp/boundaries`.
"""

import hashlib
import json
import pathlib
import random

PARTS = {
    "table": ["company", "name", "dbms"],
    "cluster": ["company", "name", "parent", "table"],
}
ADDED = ("id", "date", "ledger")


def content_id(policy):
    ((kind, attributes),) = policy.items()
    if kind in PARTS:
        text = kind + ":"
        for name in PARTS[kind]:
            if name in attributes:
                text += name + ":" + str(attributes[name]) + ":"
    else:
        text = str({kind: {k: v for k, v in attributes.items() if k not in ADDED}})
    return hashlib.md5(text.encode("utf-8")).hexdigest()


def any_text(rng):
    pools = [
        "abc XYZ 019_-.",
        "'\"\\\n\r\t\b\f/",
        "".join(map(chr, range(0x20))),
        "".join(map(chr, range(0x7F, 0x180))),
        "éßñøΩЖ中文日本語한국어עברית😀🇳🇱",
        "\u00a0\u00ad\u200b\u200d\u2028\u2029\u3000\ufeff\ue000\ufffd\uffff\U000e0001\U0010ffff",
    ]
    pool = "".join(rng.sample(pools, rng.randint(1, 3)))
    if rng.random() < 0.2:
        code = rng.randrange(0x110000)
        pool += "" if 0xD800 <= code < 0xE000 else chr(code)
    return "".join(rng.choice(pool) for _ in range(rng.randint(0, 12)))


def any_float(rng):
    return rng.choice([
        lambda: rng.uniform(-1000, 1000),
        lambda: float(rng.randint(-10**6, 10**6)),
        lambda: rng.uniform(1, 10) * 10.0 ** rng.randint(-300, 300),
        lambda: round(rng.uniform(-10, 10), rng.randint(0, 6)),
        lambda: 10.0 ** rng.randint(-8, 20),
        lambda: rng.choice([5e-324, 1.7976931348623157e308, 0.1 + 0.2, 1e22, 1e23, 2.0**53]),
    ])()


def any_value(rng, depth=0):
    kinds = ["text", "text", "int", "float", "bool", "none"] + ([] if depth > 3 else ["list", "dict"])
    kind = rng.choice(kinds)
    if kind == "text":
        return any_text(rng)
    if kind == "int":
        return rng.choice([0, 1, -1, 2**63 - 1, -(2**63), 2**64 - 1, rng.randint(-10**9, 10**9)])
    if kind == "float":
        return any_float(rng)
    if kind == "bool":
        return rng.random() < 0.5
    if kind == "none":
        return None
    if kind == "list":
        return [any_value(rng, depth + 1) for _ in range(rng.randint(0, 4))]
    return {any_text(rng) or "k": any_value(rng, depth + 1) for _ in range(rng.randint(0, 4))}


def policies():
    rng = random.Random(20261115)
    for kind in ["table", "cluster", "operator", "device", "it's"]:
        for _ in range(120):
            names = ["company", "name", "dbms", "parent", "table", "create", "id", "date", "ledger", any_text(rng) or "x"]
            rng.shuffle(names)
            yield {kind: {name: any_value(rng) for name in names[: rng.randint(0, len(names))]}}
    for start in range(0, 0x3000, 64):
        yield {"device": {"name": "".join(map(chr, range(start, start + 64)))}}
    for start in range(0xF900, 0x20000, 1024):
        yield {"device": {"name": "".join(map(chr, range(start, start + 1024, 7)))}}


def main():
    here = pathlib.Path(__file__).parent
    with open(here / "ids.jsonl", "w") as out:
        for policy in policies():
            print(json.dumps({"id": content_id(policy), "policy": policy}), file=out)
    printable = False
    for code in range(0x110000):
        if chr(code).isprintable() != printable:
            printable = not printable
            print(f"0x{code:04X}", end=", ")


main()
