#!/bin/sh
# Runs this crate's tests under AddressSanitizer and valgrind, with a stable toolchain.
#
# AddressSanitizer is a nightly flag; RUSTC_BOOTSTRAP lets a stable compiler take it for this one build. Leaks count as
# errors in both tools. Valgrind runs fewer model steps, because it is some thirty times slower.
set -eu
cd "$(dirname "$0")"
host=$(rustc -vV | sed -n 's/^host: //p')

echo "== AddressSanitizer"
RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=address -Cforce-frame-pointers=yes" \
    ORIOLE_MODEL_STEPS="${ORIOLE_MODEL_STEPS:-50000}" \
    cargo test --target "$host" --profile dev --tests --features instrument

if command -v valgrind >/dev/null; then
    echo "== valgrind"
    cargo test --release --tests --no-run --message-format=json 2>/dev/null |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | sort -u |
        while read -r test; do
            echo "-- $(basename "$test")"
            PROPTEST_CASES=4 ORIOLE_MODEL_STEPS=500 valgrind --quiet --error-exitcode=9 --leak-check=full \
                --show-leak-kinds=definite,indirect --errors-for-leak-kinds=definite,indirect \
                "$test" --test-threads=1 || exit 1
        done
else
    echo "valgrind is NOT INSTALLED: that half of the check did not run" >&2
    exit 1
fi
echo "both clean"
