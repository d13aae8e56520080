#!/bin/sh
# Runs this crate's tests under miri, which checks every access against Rust's aliasing and validity rules.
#
#     miri.sh [stacked|tree] [TARGET…] [-- TEST-OPTIONS]
#
# By default, both aliasing models run for x86-64, and the first one for i686 (32-bit addresses, the portable windows) and s390x
# (big-endian). Miri interprets code of any target, so no such machine is needed. Needs a nightly toolchain with the components
# miri and rust-src. Fails, and says so, where there is none. `miri.sh stacked s390x-unknown-linux-gnu -- --lib group` runs the
# test of the windows alone.
set -eu
cd "$(dirname "$0")"
if ! cargo +nightly miri --version >/dev/null 2>&1; then
    echo "no nightly toolchain with miri here: NOTHING WAS CHECKED (rustup toolchain install nightly -c miri -c rust-src)" >&2
    exit 1
fi
models=
case ${1:-} in stacked | tree) models=$1 && shift ;; esac
targets=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    case $1 in -* | stacked | tree) echo "usage: miri.sh [stacked|tree] [TARGET…] [-- TEST-OPTIONS]" >&2 && exit 2 ;; esac
    targets="$targets $1" && shift
done
[ "${1:-}" = -- ] && shift
[ $# -gt 0 ] || set -- --lib --tests
first=x86_64-unknown-linux-gnu
# Backtraces of the panics that tests expect would take minutes each.
export PROPTEST_CASES=1 RUST_BACKTRACE=0 ORIOLE_NO_LEAKS=1
for target in ${targets:-$first i686-unknown-linux-gnu s390x-unknown-linux-gnu}; do
    for model in ${models:-stacked tree}; do
        case $model in
        stacked) flags= ;;
        # Aliasing does not depend on the target: without a choice, one target tries both models.
        tree)
            [ -n "$models" ] || [ "$target" = $first ] || continue
            flags=-Zmiri-tree-borrows
            ;;
        esac
        echo "== miri, $target, $model borrows"
        MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-strict-provenance $flags" \
            cargo +nightly miri test --target "$target" "$@"
    done
done
echo "clean"
