#!/bin/sh
# Runs this crate's tests under AddressSanitizer and valgrind, with a stable toolchain.
#
# AddressSanitizer is a nightly flag; RUSTC_BOOTSTRAP lets a stable compiler take it for this one build. Leaks count as
# errors in both tools, so the test that leaks on purpose leaves that out. Valgrind is some thirty times slower and runs fewer
# steps. `sanitize.sh address` or `sanitize.sh valgrind` runs one of the two.
set -eu
cd "$(dirname "$0")"
host=$(rustc -vV | sed -n 's/^host: //p')
what=${1:-both}
export ORIOLE_NO_LEAKS=1

if [ "$what" != valgrind ]; then
    echo "== AddressSanitizer"
    RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=address -Cforce-frame-pointers=yes" \
        ORIOLE_MODEL_STEPS="${ORIOLE_MODEL_STEPS:-20000}" RUST_BACKTRACE=0 \
        ASAN_OPTIONS=allocator_may_return_null=1 \
        cargo test --target "$host" --profile dev --lib --tests --all-features
fi

if [ "$what" != address ]; then
    if ! command -v valgrind >/dev/null; then
        echo "valgrind is NOT INSTALLED: that half of the check did not run" >&2
        exit 1
    fi
    echo "== valgrind"
    # With full optimization LLVM evaluates conditions early on memory that turns out not to matter, which valgrind reports.
    export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1
    cargo test --release --lib --tests --no-run --message-format=json 2>/dev/null |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | sort -u |
        while read -r test; do
            echo "-- $(basename "$test")"
            PROPTEST_CASES=4 ORIOLE_MODEL_STEPS=500 ORIOLE_SLOW=1 RUST_BACKTRACE=0 \
                valgrind --quiet --error-exitcode=9 --leak-check=full \
                --show-leak-kinds=definite,indirect --errors-for-leak-kinds=definite,indirect \
                "$test" --test-threads=1 || exit 1
        done
fi
echo "clean"
