# `just` without an argument lists these.

default:
    @just --list

# What has to hold before anything lands; the same as .ci/run
check:
    ./check

# Rewrites man/, completions/ and docs/schema/ from the program's own types
regen:
    SESSCTL_REGENERATE=1 cargo test --quiet --test generated

# Attacks with the numbers of docs/reliability.md (hours); a word runs the attacks whose name holds it
torture *attack:
    {{ if attack == "" { "SESSCTL_TORTURE=long cargo test --release --test laws" } else { "" } }}
    SESSCTL_TORTURE=long cargo test --release --test torture -- {{attack}}

# Licences, advisories, duplicates (wants cargo-deny)
deny:
    cargo deny check

# Lines and facts a second; a ledger of a million rows
bench:
    cargo bench --bench read --bench ledger

# The ledgers of two overlapping homes, joined in DuckDB and in Spark (wants Python and PyPI)
fleet:
    scripts/fleet.sh

# The page of `replay --view html` in a real browser (wants chromium and chromedriver); screenshots go to the folder
browser shots="target/shots":
    cargo build
    scripts/browser.py target/debug/sessctl {{shots}}

# A tarball with man pages and completions in their places below a prefix, in target/dist
tarball target="":
    scripts/dist.sh {{target}}

# The same of a program without any library (wants the musl target and musl-gcc)
static:
    scripts/dist.sh x86_64-unknown-linux-musl

# A Debian package (wants cargo-deb)
deb:
    cargo deb --locked

# CPU of a start of each verb on a small log, beside that of cat
start runs="100":
    cargo build --release
    benches/start.sh target/release/sessctl {{runs}}

# CPU and memory of fork, merge and replay beside those of cp, as ratios of one run; a line of that many megabytes in each
ratios size="256" longest="0":
    cargo build --release
    benches/ratios.sh target/release/sessctl {{size}} {{longest}}

# CPU and memory of usage over a home, beside a byte filter's (rg, else grep)
usage size="1024":
    cargo build --release
    benches/usage.sh target/release/sessctl {{size}}

# The whole loop with real clients against APIs on loopback: CLAUDE_BIN, CODEX_BIN and PI_BIN say where they are
real-clients *clients:
    cargo build --release
    scripts/real-clients/check.py --bin target/release/sessctl {{clients}}
