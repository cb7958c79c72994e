#!/usr/bin/env bash
# Joins the ledgers of two overlapping homes in DuckDB and in Spark (a local master of two workers) by the SQL of
# docs/fleet.md, and compares the sums with those of sessctl. Wants PyPI; Python and Java come from Debian where they are
# missing. The virtual environment is kept in target/fleet.
set -eu
cd "$(dirname "$0")/.."
debian() {
    echo "installing $*" >&2
    local root=()
    [ "$(id -u)" = 0 ] || root=(sudo)
    "${root[@]}" apt-get update -qq
    DEBIAN_FRONTEND=noninteractive "${root[@]}" apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}
python3 -c 'import ensurepip, venv' 2>/dev/null || debian python3 python3-venv
command -v java >/dev/null || debian default-jre-headless
venv=target/fleet
if ! "$venv/bin/python" -c 'import duckdb, pyspark' 2>/dev/null; then
    rm -rf "$venv"
    mkdir -p target
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check duckdb pyspark
fi
cargo build --locked --quiet
for engine in duckdb spark; do
    "$venv/bin/python" scripts/fleet.py target/debug/sessctl "$engine"
done
