"""bench_cudss with the stand-in for cuDSS beside the emulated device: what it hands over, what it prints, and
how it ends where the library, its version or a factor is not what it should be.

usage: check_cudss.py PROGRAM STAND_IN"""
import json
import os
import subprocess
import sys

program, stand_in = sys.argv[1:3]


def run(*arguments, library=stand_in, **more):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "KALSCAN_CUDSS": library, **more})
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


SIZES = ((1, 1), (1, 7), (5, 1), (6, 4), (3, 33))
for triangle in ("lower", "upper"):
    code, lines, said = run("60", triangle, *(str(v) for size in SIZES for v in size))
    assert code == 0 and len(lines) == len(SIZES), (code, said)
    for (N, n), line in zip(SIZES, lines):
        assert (line["N"], line["n"], line["triangle"], line["method"]) == (N, n, triangle, "cudss"), line
        # Triangles of the blocks on the diagonal, whole ones beside them.
        assert line["entries"] == N * n * (n + 1) // 2 + (N - 1) * n * n, line
        assert line["residual"] < 1e-14 and line["cpu_difference"] < 1e-12 and line["version"] == "1.0", line
        for what in ("factor", "refactor", "solve"):
            assert 0 <= line[what + "_min_ms"] <= line[what + "_ms"], line
        assert line["analysis_ms"] >= 0 and line["factor_entries"] >= line["entries"], line

code, lines, said = run("60", "lower", "2", "3", library="/no/such/library.so")
assert code == 77 and not lines and "no cuDSS" in said, (code, said)
code, lines, said = run("60", "lower", "2", "3", STAND_IN_MAJOR="0")
assert code == 77 and not lines and "version" in said, (code, said)
code, lines, said = run("60", "lower", "2", "3", STAND_IN_INFO="4")
assert code == 1 and not lines and "status 4" in said, (code, said)
