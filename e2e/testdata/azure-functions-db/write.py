"""Writes cases-VERSION.json: state documents as azure-functions-db itself writes them, for each type of cursor and key.

    eval "$(scripts/services.sh env)"      # PostgreSQL, and Azurite for the package's blobs
    python3 -m venv /tmp/afdb && /tmp/afdb/bin/pip install azure-functions-db==0.8.3 psycopg2-binary
    /tmp/afdb/bin/python e2e/testdata/azure-functions-db/write.py

Each case makes a table of seven rows, lets the package's PollTrigger deliver a batch of four through its BlobCheckpointStore, and
keeps the blob, with what makes the table again, and which rows (by their n) the package itself delivers next. What it cannot do is
kept as its error.
"""
import importlib.metadata
import json
import logging
import os
import pathlib
import sqlite3
import tempfile
import time

import psycopg2
from azure.storage.blob import ContainerClient
from azure_functions_db import PollTrigger, SqlAlchemySource
from azure_functions_db.core.metadata import get_metadata_cache
from azure_functions_db.state import BlobCheckpointStore

VERSION = importlib.metadata.version("azure-functions-db")
BATCH = 4
ID = ["id"]
IDS = [[n] for n in range(1, 8)]


def times(form):
    return [form % second for second in (40, 41, 42, 43, 44, 45, 46)]


# name: type of the cursor, its values, types of the key's columns, their values, pk_columns, the query in place of the table
CASES = {
    "sqlite": {
        "integer": ("INTEGER", [1, 2, 3, 9007199254740993, 9007199254740994, 9007199254740995, 9223372036854775807]),
        "decimal": ("NUMERIC(12,3)", [-0.5, 0, 0.001, 12.5, 12.501, 100, 123456.789]),
        "decimal of thirds": ("NUMERIC(12,3)", [0.1, 0.2, 0.25, 1 / 3, 0.4, 0.5, 0.6]),
        "datetime, micros": ("DATETIME", times("2026-04-07 01:23:%d.123456")),
        "datetime, padded zeros": ("DATETIME", times("2026-04-07 01:23:%d.000000")),
        "datetime, CURRENT_TIMESTAMP": ("DATETIME", times("2026-04-07 01:23:%d")),
        "datetime, millis": ("TIMESTAMP", times("2026-04-07 01:23:%d.120")),
        "datetime, ties": ("DATETIME", ["2026-04-07 01:23:45"] * 7),
        "datetime, T": ("DATETIME", times("2026-04-07T01:23:%d.5")),
        "datetime, T and Z": ("DATETIME", times("2026-04-07T01:23:%dZ")),
        "query of datetime": ("DATETIME", times("2026-04-07 01:23:%d"), ["INTEGER"], IDS, ID, "SELECT id, c, n FROM orders"),
        "date": ("DATE", ["2026-04-%02d" % day for day in range(1, 8)]),
        "text key": ("INTEGER", [1] * 7, ["TEXT"], [[k] for k in "abcdefg"]),
        "uuid key": ("INTEGER", [1] * 7, ["CHAR(36)"], [["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1%d" % n] for n in range(7)]),
        "two keys": ("DATETIME", ["2026-04-07 01:23:45"] * 7, ["TEXT", "INTEGER"], [["a", 1], ["a", 2], ["b", 1], ["b", 2], ["b", 3], ["c", 1], ["c", 2]], ["tenant", "id"]),
        "two keys, turned": ("INTEGER", [1] * 7, ["INTEGER", "INTEGER"], [[1, 9], [2, 8], [3, 7], [4, 6], [5, 5], [6, 4], [7, 3]], ["id", "tenant"]),
    },
    "postgres": {
        "integer": ("bigint", [1, 2, 3, 9007199254740993, 9007199254740994, 9007199254740995, 9223372036854775807]),
        "numeric": ("numeric(20,10)", ["-0.5", "0", "0.0000000001", "12.5", "12.5000000001", "100", "1234567890.0123456789"]),
        "small numeric": ("numeric(20,10)", ["-0.5", "-0.0000000002", "-0.0000000001", "0", "0.0000000001", "100", "101"]),
        "double precision": ("double precision", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]),
        "text": ("text", list("abcdefg")),
        "uuid": ("uuid", ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1%d" % n for n in range(7)]),
        "timestamp": ("timestamp", times("2026-04-07 01:23:%d.123456")),
        "timestamp, no fraction": ("timestamp", times("2026-04-07 01:23:%d")),
        "timestamp, in no Berlin hour": ("timestamp", times("2026-03-29 02:23:%d")),
        "timestamptz": ("timestamptz", times("2026-04-07 01:23:%d.123456+00")),
        "timestamptz, offset": ("timestamptz", times("2026-04-07 01:23:%d.5+02")),
        "date": ("date", ["2026-04-%02d" % day for day in range(1, 8)]),
        "text key": ("bigint", [1] * 7, ["text"], [[k] for k in ["a", "b", 'c"d', "é", "\U0001f600", "~1", "~2"]]),
        "uuid key": ("bigint", [1] * 7, ["uuid"], [["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1%d" % n] for n in range(7)]),
        "numeric key": ("bigint", [1] * 7, ["numeric(10,2)"], [["%d.50" % n] for n in range(1, 8)]),
        "timestamptz key": ("bigint", [1] * 7, ["timestamptz"], [["2026-04-07 01:23:%d+00" % n] for n in range(40, 47)]),
        "two keys": ("timestamptz", ["2026-04-07 01:23:45+00"] * 7, ["uuid", "bigint"],
                     [["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1%d" % (n // 3), n] for n in range(7)], ["tenant", "id"]),
        "query of timestamptz": ("timestamptz", times("2026-04-07 01:23:%d+00"), ["bigint"], IDS, ID, "SELECT id, c, n FROM orders"),
    },
}


def literal(value):
    return str(value) if isinstance(value, (int, float)) else "'" + value.replace("'", "''") + "'"


def case(engine, url, execute, container, cursor, values, types=None, keys=IDS, pk=None, query=None):
    types = types or ["INTEGER" if engine == "sqlite" else "bigint"]
    names = sorted(pk or ID, reverse=True)  # tenant, id
    collate = [' COLLATE "C"' if kind == "text" else "" for kind in types]
    columns = ", ".join(f"{name} {kind}{c} NOT NULL" for name, kind, c in zip(names, types, collate))
    rows = ", ".join("(" + ", ".join(literal(v) for v in [*key, value, n]) + ")" for n, (key, value) in enumerate(zip(keys, values), 1))
    ddl = [f"CREATE TABLE orders ({columns}, c {cursor} NOT NULL, n INTEGER NOT NULL, PRIMARY KEY ({', '.join(pk or ID)}))", f"INSERT INTO orders VALUES {rows}"]
    for text in ["DROP TABLE IF EXISTS orders", *ddl]:
        execute(text)
    get_metadata_cache().clear()  # it keeps what a table of this name looked like
    found = {"ddl": ddl, "key": pk or ID, "query": query}
    name = f"{engine}{container.blobs}"
    container.blobs += 1
    source = SqlAlchemySource(url=url, table=None if query else "orders", query=query, cursor_column="c", pk_columns=pk or ID)
    store = BlobCheckpointStore(container_client=container.client, source_fingerprint=source.source_descriptor.fingerprint)
    trigger = PollTrigger(name=name, source=source, checkpoint_store=store, batch_size=BATCH, lease_ttl_seconds=2)
    for part in ("first", "next"):
        events = []
        try:
            trigger.run(timer=None, handler=events.extend)
        except Exception as error:  # what the package says is the case's result
            found["error"] = f"{part}: {type(error).__name__}: {error}: {error.__cause__!r}".split("\n")[0]
        found[part] = [event.after["n"] for event in events]
        if part == "first":
            found["document"] = json.loads(container.client.download_blob(f"state/{name}.json").readall(), parse_float=Verbatim)
        time.sleep(2)  # the lease is released, and may be taken after its grace
    source.dispose()
    return found


class Verbatim(float):
    """A number as it stands in the blob."""

    def __new__(cls, text):
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __repr__(self):
        return self.text


class Blobs:
    def __init__(self, client):
        self.client, self.blobs = client, 0


def main():
    logging.disable(logging.CRITICAL)
    client = ContainerClient.from_connection_string(os.environ["ROWRELAY_TEST_AZURITE"], "afdb-" + os.urandom(4).hex())
    client.create_container()
    blobs = Blobs(client)
    server = os.environ["ROWRELAY_TEST_POSTGRES"]
    admin = psycopg2.connect(server)
    admin.autocommit = True
    database = "afdb_" + os.urandom(4).hex()
    admin.cursor().execute(f"CREATE DATABASE {database}")
    found = {"version": VERSION, "cases": {}}
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/shop.db"
            db = sqlite3.connect(path, isolation_level=None)
            for name, args in CASES["sqlite"].items():
                found["cases"]["sqlite: " + name] = case("sqlite", "sqlite:///" + path, db.execute, blobs, *args)
            db.close()
        url = server.replace("/postgres?", f"/{database}?").replace("postgres://", "postgresql+psycopg2://")
        db = psycopg2.connect(server.replace("/postgres?", f"/{database}?"))
        db.autocommit = True
        for name, args in CASES["postgres"].items():
            found["cases"]["postgres: " + name] = case("postgres", url, db.cursor().execute, blobs, *args)
        db.close()
    finally:
        admin.cursor().execute(f"DROP DATABASE {database} WITH (FORCE)")
        client.delete_container()
    out = pathlib.Path(__file__).with_name(f"cases-{VERSION}.json")
    out.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
