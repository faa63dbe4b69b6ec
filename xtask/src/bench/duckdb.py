"""Asks DuckDB queries on Parquet files, and prints the median time of each in seconds."""

import json
import statistics
import sys
import time

import duckdb

question = json.loads(sys.argv[1])
database = duckdb.connect()
database.execute(
    f"create view {question['table']} as select * from read_parquet('{question['files']}')"
)
medians = []
for query in question["queries"]:
    times = []
    for _ in range(question["runs"]):
        begin = time.perf_counter()
        database.execute(query).fetchall()
        times.append(time.perf_counter() - begin)
    medians.append(statistics.median(times))
print(json.dumps(medians))
