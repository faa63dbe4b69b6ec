"""pandas, polars, pyarrow and DuckDB read the result of a query from a URL, as if it were a file.

The node that is asked holds no rows: the network answers. Called with one argument, a JSON object with the
node's `url`, the `database`, the `table` and the number of `rows`.
"""

import io
import json
import sys
import urllib.request
from urllib.parse import urlencode

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.csv
import pyarrow.parquet

settings = json.loads(sys.argv[1])
ROWS = settings["rows"]
SQL = f"select n, value, device_name, timestamp from {settings['table']} order by n"
FAILED = []


def url(format, sql=SQL):
    query = {"dbms": settings["database"], "sql": sql, "format": format}
    return f"{settings['url']}/api/v1/sql?{urlencode(query)}"


def check(name, numbers, values):
    numbers, values = list(numbers), list(values)
    is_right = numbers == list(range(ROWS)) and abs(values[7] - (7 * 7919 % 1000 / 10 + 0.05)) < 1e-9
    print(f"   {name}: {'ok' if is_right else 'WRONG'}")
    if not is_right:
        FAILED.append(name)


def opened(format):
    return urllib.request.urlopen(url(format))


def frame(name, read):
    table = read()
    check(name, table["n"].to_list(), table["value"].to_list())


frame("pandas.read_csv", lambda: pandas.read_csv(url("csv")))
frame("pandas.read_parquet", lambda: pandas.read_parquet(url("parquet")))
frame("pandas.read_json", lambda: pandas.read_json(url("ndjson"), lines=True))
frame("polars.read_csv", lambda: polars.read_csv(url("csv")))
frame("polars.scan_csv", lambda: polars.scan_csv(url("csv")).collect())
frame("polars.read_parquet", lambda: polars.read_parquet(url("parquet")))
frame("polars.scan_parquet", lambda: polars.scan_parquet(url("parquet")).select("n", "value").collect())
frame("polars.read_ipc_stream", lambda: polars.read_ipc_stream(opened("arrow").read()))


def arrow():
    with pyarrow.ipc.open_stream(opened("arrow")) as stream:
        return stream.read_all()


def columns(name, table):
    check(name, table.column("n").to_pylist(), table.column("value").to_pylist())


columns("pyarrow.ipc", arrow())
columns("pyarrow.csv", pyarrow.csv.read_csv(opened("csv")))
columns("pyarrow.parquet", pyarrow.parquet.read_table(io.BytesIO(opened("parquet").read())))

rows = arrow()
counted = duckdb.sql("select device_name, count(*) as c from rows group by 1 order by 1").fetchall()
devices = [(f"sensor-{number}", ROWS // 10) for number in range(10)]
print(f"   duckdb over pyarrow: {'ok' if counted == devices else 'WRONG'}")
if counted != devices:
    FAILED.append("duckdb")

# What is not there is an error with a hint, and no frame.
try:
    polars.read_csv(url("csv", "select nope from readings"))
    FAILED.append("an error")
except Exception as error:
    print(f"   an error: {type(error).__name__}")

sys.exit(1 if FAILED else 0)
