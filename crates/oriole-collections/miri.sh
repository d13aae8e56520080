#!/bin/sh
# Runs this crate's tests under miri, which checks every access against Rust's aliasing and validity rules.
#
# Needs a nightly toolchain with the miri component; fails, and says so, where there is none. The tables use their portable
# window code under miri, so the SSE2 code is covered by sanitize.sh instead. Both aliasing models are tried, unless one is
# named: `miri.sh stacked` or `miri.sh tree`.
set -eu
cd "$(dirname "$0")"
if ! cargo +nightly miri --version >/dev/null 2>&1; then
    echo "no nightly toolchain with miri here: NOTHING WAS CHECKED (rustup toolchain install nightly -c miri)" >&2
    exit 1
fi
# Backtraces of the panics that tests expect would take minutes each.
export PROPTEST_CASES=1 RUST_BACKTRACE=0 ORIOLE_NO_LEAKS=1
for model in ${1:-stacked tree}; do
    echo "== miri, $model borrows"
    case $model in
    stacked) flags= ;;
    tree) flags=-Zmiri-tree-borrows ;;
    *) echo "miri.sh takes stacked or tree" >&2 && exit 2 ;;
    esac
    MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-strict-provenance $flags" cargo +nightly miri test --lib --tests
done
echo "clean"
