#!/bin/sh
# Runs this crate's tests under AddressSanitizer and valgrind, with a stable toolchain, and under miri where a nightly one has it.
#
# AddressSanitizer is a nightly flag; RUSTC_BOOTSTRAP lets a stable compiler take it for this one build. Leaks count as
# errors in both tools, so the test that leaks on purpose leaves that out. Valgrind is some thirty times slower and runs fewer
# steps, with full optimization. `sanitize.sh address`, `sanitize.sh valgrind` or `sanitize.sh miri` runs one of the three.
set -eu
cd "$(dirname "$0")"
host=$(rustc -vV | sed -n 's/^host: //p')
what=${1:-all}
skipped=
export ORIOLE_NO_LEAKS=1

if [ "$what" = all ] || [ "$what" = address ]; then
    echo "== AddressSanitizer"
    RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=address -Cforce-frame-pointers=yes" \
        ORIOLE_MODEL_STEPS="${ORIOLE_MODEL_STEPS:-20000}" RUST_BACKTRACE=0 \
        ASAN_OPTIONS=allocator_may_return_null=1 \
        cargo test --target "$host" --profile dev --lib --tests --all-features
fi

if [ "$what" = all ] || [ "$what" = valgrind ]; then
    if ! command -v valgrind >/dev/null; then
        echo "valgrind is NOT INSTALLED: that part of the check did not run" >&2
        exit 1
    fi
    echo "== valgrind"
    export CARGO_PROFILE_RELEASE_LTO=off
    cargo test --release --lib --tests --no-run --message-format=json 2>/dev/null |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | sort -u >"${TMPDIR:-/tmp}/oriole-tests.$$"
    trap 'rm -f "${TMPDIR:-/tmp}/oriole-tests.$$"' EXIT
    if ! [ -s "${TMPDIR:-/tmp}/oriole-tests.$$" ]; then
        echo "the tests DID NOT BUILD: nothing was checked with valgrind" >&2
        exit 1
    fi
    while read -r test; do
        echo "-- $(basename "$test")"
        PROPTEST_CASES=4 ORIOLE_MODEL_STEPS=500 ORIOLE_SLOW=1 RUST_BACKTRACE=0 \
            valgrind --quiet --error-exitcode=9 --leak-check=full \
            --show-leak-kinds=definite,indirect --errors-for-leak-kinds=definite,indirect \
            "$test" --test-threads=1
    done <"${TMPDIR:-/tmp}/oriole-tests.$$"
fi

if [ "$what" = all ] || [ "$what" = miri ]; then
    if cargo +nightly miri --version >/dev/null 2>&1; then
        ./miri.sh
    elif [ "$what" = miri ]; then
        ./miri.sh # says what is missing, and fails
    else
        skipped="; miri DID NOT RUN: no nightly toolchain here has it"
    fi
fi
echo "clean$skipped"
