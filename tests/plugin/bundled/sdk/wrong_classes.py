#!/usr/bin/env python3
"""A class that is no strategy does not compile, and the compiler's first error says in words what is wrong.

wrong_classes.py COMPILER SDK_INCLUDE CASES
"""
import concurrent.futures
import os
import subprocess
import sys

HEAD = '#include <shunt/sdk/plugin.hpp>\nnamespace {\nnamespace sdk = shunt::sdk;\n'
TAIL = '\n}\nSHUNT_PLUGIN("test.wrong", "1.0.0", "Apache-2.0", wrong);\n'
RIGHT = ('class wrong { public: static constexpr std::string_view name = "x", summary = "s"; '
         'sdk::pick select(sdk::view, sdk::message) const { return 0u; } };')


def compile_text(compiler, include, text):
    done = subprocess.run([compiler, '-std=c++20', '-fsyntax-only', '-I', include, '-x', 'c++', '-'], input=text, text=True,
                          capture_output=True, check=False, env={'PATH': '/usr/bin:/bin', 'LC_ALL': 'C'})
    errors = [line for line in done.stderr.splitlines() if 'error:' in line]
    return done.returncode, errors


def main(compiler, include, cases):
    with open(cases, encoding='utf-8') as file:
        parts = [part.split('\n', 1) for part in file.read().split('\n== ')[1:]]
    texts = [RIGHT] + [text for _, text in parts]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda text: compile_text(compiler, include, HEAD + text + TAIL), texts))
    failed = 0
    if results[0][0] != 0:
        failed += 1
        print('a right class does not compile:', *results[0][1], sep='\n  ')
    for (wanted, _), (status, errors) in zip(parts, results[1:]):
        if status == 0 or not errors or wanted not in errors[0] or len(errors) > 3:
            failed += 1
            print(f'wanted: {wanted}\nstatus {status}, {len(errors)} errors:', *errors[:5], sep='\n  ')
    print(f'{len(texts) - failed} of {len(texts)} as they should be')
    return failed


if __name__ == '__main__':
    sys.exit(1 if main(*sys.argv[1:]) else 0)
