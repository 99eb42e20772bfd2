#!/bin/sh
# What continuous integration runs: builds anew with warnings as errors, tests, checks. Any system can call it: sh ci.sh
set -eu
cd "$(dirname "$0")"
rm -rf build/ci
export CFLAGS="-Wall -Wextra -Werror" CXXFLAGS="-Wall -Wextra -Werror" RUSTFLAGS="-D warnings"
cmake -B build/ci
cmake --build build/ci
ctest --test-dir build/ci --output-on-failure --no-tests=error
shunt plugin check build/ci/lib@file@.so
