#!/usr/bin/env bash
# A tarball of the release build with man pages and completions in their places below a prefix such as /usr/local.
#
# Usage: scripts/dist.sh [TARGET]    TARGET is a Rust target triple; default: this machine's
set -eu
cd "$(dirname "$0")/.."
host=$(rustc -vV | sed -n 's/^host: //p')
target=${1:-$host}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
missing=0
if [ "$target" != "$host" ] && ! rustc --print target-libdir --target "$target" 2>/dev/null | xargs test -d; then
    echo "missing: the standard library for $target (rustup target add $target)" >&2
    missing=1
fi
case $target in
*-musl)
    if ! command -v musl-gcc >/dev/null; then
        echo "missing: musl-gcc, for the C part of zstd (Debian: apt install musl-tools)" >&2
        missing=1
    fi
    ;;
esac
[ "$missing" = 0 ] || exit 1
# This machine's own is the usual release build, which is often there already.
if [ "$target" = "$host" ]; then
    cargo build --release --locked
    built=target/release/sessctl
else
    cargo build --release --locked --target "$target"
    built=target/$target/release/sessctl
fi
name=sessctl-$version-$target
out=target/dist/$name
rm -rf "$out"
install -Dm755 "$built" "$out/bin/sessctl"
for page in man/*.1; do install -Dm644 "$page" "$out/share/man/man1/${page##*/}"; done
# These let the program answer, which knows the sessions as well.
install -Dm644 completions/live/sessctl.bash "$out/share/bash-completion/completions/sessctl"
install -Dm644 completions/live/_sessctl "$out/share/zsh/site-functions/_sessctl"
install -Dm644 completions/live/sessctl.fish "$out/share/fish/vendor_completions.d/sessctl.fish"
install -Dm644 completions/sessctl.elv "$out/share/elvish/lib/sessctl.elv"
install -Dm644 completions/_sessctl.ps1 "$out/share/powershell/_sessctl.ps1"
# As in the repository, so that the links of the pages lead somewhere.
install -Dm644 -t "$out/share/doc/sessctl" README.md CHANGELOG.md SECURITY.md LICENSE
install -Dm644 -t "$out/share/doc/sessctl/docs" docs/*.md
cp -r docs/schema docs/examples docs/decisions "$out/share/doc/sessctl/docs/"
tar -C target/dist --sort=name --owner=0 --group=0 --numeric-owner -czf "target/dist/$name.tar.gz" "$name"
(cd target/dist && sha256sum "$name.tar.gz" | tee "$name.tar.gz.sha256")
