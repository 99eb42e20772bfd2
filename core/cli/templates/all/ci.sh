#!/bin/sh
# What continuous integration runs: builds anew with warnings as errors, tests, checks. Any system can call it: sh ci.sh
set -eu
cd "$(dirname "$0")"
rm -rf build/ci
cmake -B build/ci -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS="-Wall -Wextra -Werror" -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror"
cmake --build build/ci
ctest --test-dir build/ci --output-on-failure --no-tests=error
shunt plugin check build/ci/lib@file@.so
