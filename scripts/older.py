#!/usr/bin/env python3
"""Has an older build of ours do half of the work, and keeps what it leaves, for TestOlderBuilds (e2e/older_test.go).

    scripts/older.py COMMIT...      in a clone with its history; needs Go and sqlite3

It builds cmd/rowrelay of each commit and lets it deliver to a receiver that refuses some rows, from an SQLite
database into e2e/testdata/older/COMMIT/: the state store as it was written (state/), the database as SQL (shop.sql), the
settings (settings.json), and what the receiver accepted (accepted.json). Nothing of that is edited.
"""
import http.server
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent
OWN = ("INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key) "
       "VALUES ('Order', ?, 'E', ?, ?)")


class Receiver(http.server.BaseHTTPRequestHandler):
    accepted = []  # [poller, id of the event]

    def do_POST(self):
        events = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        refused = any((e.get("data") or {}).get("item") == "bad" for e in events)
        if not refused:
            self.accepted.extend([e["source"].split("/")[-1], e["id"]] for e in events)
        self.send_response(422 if refused else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def settings(tracked, outbox):
    """Of all pollers; the URL is added when they run."""
    s = {"SHOP_DB": "sqlite:shop.db", "state__kind": "file", "state__path": "state", "state__app_name": "shop"}

    def poller(name, **more):
        for key, value in {"source__connection": "SHOP_DB", "output__kind": "http", "output__retries": "1",
                           "retry_delays": "10s", **more}.items():
            s[f"pollers__{name}__{key}"] = value
        if more.get("source__mode") != "outbox":  # the path of the file is part of what identifies it
            s[f"pollers__{name}__source__identity"] = "shop"

    poller("exact", source__table="orders", source__cursor="id", source__late_commits="exact")
    poller("overlap", source__table="orders", source__cursor="changed_at", source__late_commits="overlap")
    poller("given", source__table="orders", source__cursor="id", max_attempts="1")  # one is a dead letter
    poller("held", source__table="orders", source__cursor="id", ordering="source")  # waits at the bad row
    if tracked:
        poller("tracked", source__table="orders", source__mode="changetracking")
    if outbox:
        poller("own", source__table="outbox", source__mode="outbox")
        poller("mapped", source__table="legacy", source__mode="outbox", max_attempts="1")
    return s


def build(commit, into):
    tree = pathlib.Path(into) / "tree"
    subprocess.run(["git", "-C", ROOT, "worktree", "add", "--detach", tree, commit], check=True, capture_output=True)
    try:
        subprocess.run(["go", "build", "-trimpath", "-ldflags", "-s -w", "-o", pathlib.Path(into) / "rowrelay",
                        "./cmd/rowrelay"], cwd=tree, check=True, env=dict(os.environ, CGO_ENABLED="0"))
    finally:
        subprocess.run(["git", "-C", ROOT, "worktree", "remove", "--force", tree], check=True)
    return pathlib.Path(into) / "rowrelay"


def keep(commit, binary, work, url):
    shop = sqlite3.connect(work / "shop.db", isolation_level=None)
    shop.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, item TEXT, changed_at DATETIME NOT NULL)")
    shop.execute("CREATE TABLE legacy (id INTEGER PRIMARY KEY AUTOINCREMENT, aggregate_id TEXT NOT NULL, "
                 "payload TEXT NOT NULL, published BOOLEAN NOT NULL DEFAULT FALSE)")

    def rowrelay(*args, s, check=True):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("pollers__", "state__"))}
        urls = {k.replace("kind", "url"): url for k, v in s.items() if k.endswith("output__kind") and v == "http"}
        done = subprocess.run([binary, *args], cwd=work, env={**env, **s, **urls}, capture_output=True, text=True)
        if check and done.returncode:
            sys.exit(f"{commit}: {args}: {done.stdout}{done.stderr}")
        return done

    tracked, outbox = ("--apply" in rowrelay(*command, "--help", s={}, check=False).stdout
                       for command in (["track", "install"], ["outbox", "init"]))
    s = settings(tracked, outbox)
    if tracked:
        rowrelay("track", "install", "tracked", "--apply", "--yes", s=s)
    if outbox:
        rowrelay("outbox", "init", "own", "--apply", s=s)
        rowrelay("outbox", "init", "mapped", "--beside", "--apply", s=s)

    def order(number, item):
        changed = f"2026-11-20 10:00:{number:02}.000"
        shop.execute("INSERT INTO orders (item, changed_at) VALUES (?, ?)", (item, changed))

    def event(number, aggregate, item):
        if outbox:
            payload = json.dumps({"n": number, "item": item})
            shop.execute(OWN, (aggregate, payload, f"key-{number}"))
            shop.execute("INSERT INTO legacy (aggregate_id, payload) VALUES (?, ?)", (aggregate, payload))

    for number, item in enumerate(["tea", "bad", "tea", "tea", "cup"], 1):
        order(number, item)
        event(number, "ab"[number % 2], item)
    rowrelay("run", "--once", s=s, check=False)  # the poller that waits at the bad row fails
    for number in range(6, 9):  # which shows that it is the rows' own fault
        order(number, "tea")
        event(number, "abc"[number % 3], "tea")
        rowrelay("run", "--once", s=s, check=False)
    if tracked:
        shop.execute("DELETE FROM orders WHERE id = 4")
        rowrelay("run", "--once", s=s, check=False)
    shop.execute("UPDATE orders SET item = 'pot', changed_at = '2026-11-20 10:01:00.000' WHERE id = 3")
    order(9, "rice")  # not delivered yet
    event(9, "c", "rice")
    shop.close()

    to = ROOT / "e2e" / "testdata" / "older" / commit
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir(parents=True)
    shutil.copytree(work / "state", to / "state", ignore=shutil.ignore_patterns("status", "*.lock"))
    (to / "shop.sql").write_bytes(subprocess.run(["sqlite3", work / "shop.db", ".dump"], check=True,
                                                 capture_output=True).stdout)
    (to / "settings.json").write_text(json.dumps(s, indent=1) + "\n")
    (to / "accepted.json").write_text(json.dumps(sorted(Receiver.accepted), indent=1) + "\n")


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for commit in sys.argv[1:]:
        Receiver.accepted.clear()
        with tempfile.TemporaryDirectory() as into:
            work = pathlib.Path(into) / "work"
            work.mkdir()
            keep(commit, build(commit, into), work, f"http://127.0.0.1:{server.server_port}/")


if __name__ == "__main__":
    main()
