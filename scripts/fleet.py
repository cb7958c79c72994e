#!/usr/bin/env python3
"""Runs the SQL of docs/fleet.md over the ledgers of two overlapping homes, in DuckDB and in Spark.

  fleet.py SESSCTL duckdb|spark

The sums of both engines, per client and as a whole, must be those of `sessctl usage` over both homes at once. Exits with
1 where they are not.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COUNTERS = ("input", "output", "reasoning", "cache_read", "cache_write_5m", "cache_write_1h")


def homes(folder):
    """Two homes that share some sessions; each also has some that the other lacks: parents of forks among them."""
    one, two = folder / "one", folder / "two"
    fixtures = ROOT / "fixtures"
    for client, cases in (("claude-code", sorted((fixtures / "claude-code").glob("*/projects"))),
                          ("codex", sorted((fixtures / "codex").glob("*/sessions")))):
        for nth, case in enumerate(cases):
            for home in ([one], [two], [one, two])[nth % 3]:
                shutil.copytree(case, home / client / case.parent.name)
    # A fork without its parent in one home, the parent without the fork in the other, and both in none.
    fork = fixtures / "claude-code/plain-and-fork/projects/-home-ada-webshop"
    for home, file in zip((one, two), sorted(fork.glob("*.jsonl"))):
        shutil.copytree(fork, home / "torn", ignore=lambda _, names: [name for name in names if name != file.name])
    for nth, file in enumerate(sorted((fixtures / "pi").glob("pi-1.6.0-*.jsonl"))):
        for home in ([one], [two], [one, two])[nth % 3]:
            (home / "pi").mkdir(parents=True, exist_ok=True)
            shutil.copy(file, home / "pi" / file.name)
    return one, two


def run(binary, *args, host="here", home):
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "SESSCTL_HOST": host}
    done = subprocess.run([binary, *map(str, args), "--json"], env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{args}: {done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def queries(engine):
    """The blocks of docs/fleet.md that begin with a comment naming the engine, by name."""
    text = (ROOT / "docs/fleet.md").read_text()
    blocks = re.findall(r"```sql\n-- (\w+): (\w+)\n(.*?)```", text, re.S)
    found = {name: sql for language, name, sql in blocks if language == engine}
    return found or sys.exit(f"docs/fleet.md has no SQL for {engine}")


def duckdb(folder):
    import duckdb as engine
    base = engine.connect()
    base.execute("SET TimeZone = 'UTC'")

    def ask(sql):
        cursor = base.execute(sql.replace("fleet/", f"{folder}/fleet/"))
        names = [column[0] for column in cursor.description or []]
        return [dict(zip(names, row)) for row in cursor.fetchall()] if names else []
    return ask


def spark(folder):
    from pyspark.sql import SparkSession
    session = (SparkSession.builder.master("local[2]").appName("fleet")
               .config("spark.sql.session.timeZone", "UTC").config("spark.ui.enabled", "false")
               .config("spark.ui.showConsoleProgress", "false").config("spark.sql.shuffle.partitions", "4").config("spark.driver.memory", "1g")
               .config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
               .config("spark.sql.warehouse.dir", str(folder / "warehouse")).getOrCreate())
    session.sparkContext.setLogLevel("ERROR")

    def ask(sql):
        answer = []
        for statement in filter(str.strip, sql.split(";")):
            frame = session.sql(statement.replace("fleet/", f"{folder}/fleet/"))
            answer = [row.asDict() for row in frame.collect()]
        return answer
    return ask


def main():
    binary, engine = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        one, two = homes(folder)
        for host, home in (("host-a", one), ("host-b", two)):
            for _ in range(2):  # what is exported again changes nothing
                run(binary, "usage", home, "--ledger", f"{folder}/fleet/", "--cost", host=host, home=folder)
        both = run(binary, "usage", one, two, "--by", "client", "--cost", home=folder)
        alone = [run(binary, "usage", home, home=folder)["completions"] for home in (one, two)]
        assert sum(alone) > both["completions"], "the homes overlap"
        ask = {"duckdb": duckdb, "spark": spark}[engine](folder)
        sql = queries(engine)
        ask(sql.pop("join"))
        rows = {row["client"]: row for row in ask(sql.pop("sums"))}
        wrong = []
        for want in both["rows"]:
            have = rows.pop(want["client"], None) or {}
            for field in ("completions", *COUNTERS):
                if int(have.get(field, -1)) != want[field]:
                    wrong.append(f"{want['client']} {field}: {engine} has {have.get(field)}, sessctl {want[field]}")
            cost = have.get("cost_computed_nano")
            if round((want["cost_computed"] or 0) * 1e9) != int(cost or 0):
                wrong.append(f"{want['client']} cost: {engine} has {cost}, sessctl {want['cost_computed']}")
        wrong += [f"{client} is only in {engine}" for client in rows]
        for name, more in sql.items():  # whatever else the page shows must at least run
            if not ask(more):
                wrong.append(f"{name}: no rows")
        print("\n".join(wrong) or f"{engine}: {both['completions']} completions of {alone[0]} + {alone[1]}, "
              f"{both['totals']['total']} tokens, as sessctl counts them")
        return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
