#!/usr/bin/env python3
"""`kalscan` on a machine's device beside the same command on its CPU: files of simulated data, all that it writes.

usage: try_command.py KALSCAN [LIBRARY_PATH [STEPS]]

LIBRARY_PATH is where the command's shared libraries are, STEPS the length of series (3000). Each case is a line, and one that fails does not stop the
others. Exit code 77 without a device or without numpy and h5py, 1 where a case fails."""
import os
import subprocess
import sys
import tempfile
import time

try:
    import h5py
    import numpy as np
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)

KALSCAN = os.path.abspath(sys.argv[1])
LIBRARIES = sys.argv[2] if len(sys.argv) > 2 else os.environ.get("LD_LIBRARY_PATH", "")
STEPS = int(sys.argv[3]) if len(sys.argv) > 3 else 3000
SECONDS = 15  # most of one call of the command

FILES = {
    "varying": ["random", "--T", str(STEPS)],
    "constant": ["constant-velocity", "--T", str(STEPS), "--B", "3", "--missing", "0.1"],
    "large": ["rotation", "--nx", "20", "--T", str(STEPS // 10)],
    "small_blocks": ["blocktri", "--N", str(STEPS // 10), "--n", "8", "--nrhs", "3"],
    "large_blocks": ["blocktri", "--N", str(5 + STEPS // 150), "--n", "100"],
    "queue": ["queue", "--servers", str(5 + STEPS // 150), "--capacity", "4"],
}
# Command, file, options of both, options of the device's, most difference relative to the largest number.
CASES = [
    ("smooth", "varying", ["--lag-one", "--filtered"], [], 1e-7),
    ("smooth", "varying", ["--precision", "f32"], [], 2e-2),
    ("smooth", "varying", [], ["--method", "scan-two-filter"], 1e-7),
    ("smooth", "varying", [], ["--method", "scan-two-filter", "--scan", "ladner-fischer"], 1e-7),
    ("smooth", "varying", [], ["--method", "scan-two-filter", "--device", "0,0"], 1e-7),
    ("smooth", "varying", [], ["--precision", "mixed", "--method", "scan-rts", "--scan", "chunked"], 1e-4),
    ("smooth", "varying", [], ["--method", "blocktri", "--order", "partition"], 1e-7),
    ("filter", "varying", ["--predicted", "--innovations"], ["--scan", "blelloch"], 1e-7),
    ("smooth", "constant", ["--lag-one"], ["--scan", "sengupta:16"], 1e-7),
    ("filter", "constant", ["--cov", "diag"], [], 1e-7),
    ("smooth", "large", [], [], 1e-7),
    ("smooth", "large", [], ["--method", "blocktri"], 1e-7),
    ("solve", "small_blocks", [], [], 1e-10),
    ("solve", "small_blocks", [], ["--method", "partition", "--segments", "5"], 1e-10),
    ("solve", "large_blocks", ["--inverse-blocks"], [], 1e-10),
    ("solve", "large_blocks", [], ["--precision", "mixed"], 1e-5),
    ("solve", "large_blocks", [], ["--method", "recursive-schur"], 1e-10),
    ("solve", "queue", ["--method", "red-black", "--tol", "1e-10"], [], 1e-6),
]


def run(*arguments):
    """What came of the command; one that hangs is ended, as `timeout` would."""
    command = [KALSCAN, *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS,
                              env={**os.environ, "LD_LIBRARY_PATH": LIBRARIES})
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", "not through after %d s" % SECONDS)


def written(path):
    found = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, item: found.update({name: item[()]})
                        if isinstance(item, h5py.Dataset) and item.dtype.kind == "f" else None)
    return found


def difference(found, expected):
    """The largest, relative to the largest number of the same dataset; infinite where entries or datasets are missing."""
    if found.keys() != expected.keys() or not found:
        return np.inf
    most = 0.0
    for name, value in expected.items():
        if value.shape != found[name].shape or np.any(np.isnan(value) != np.isnan(found[name])):
            return np.inf
        if value.size and not np.all(np.isnan(value)):
            most = max(most, float(np.nanmax(np.abs(found[name] - value)) / max(np.nanmax(np.abs(value)), 1e-300)))
    return most


def try_case(command, source, both, of_device, most):
    """`well`, or what went wrong; cuBLAS and cuSOLVER need not be there."""
    for backend, options in (("cpu", []), ("cuda", ["--backend", "cuda", *of_device])):
        done = run(command, source + ".h5", "-o", backend + ".h5", "--force", "--quiet", *both, *options)
        if done.returncode == 5 and "recursive-schur" in options:
            return "well, left out: " + done.stderr.strip()
        if done.returncode != 0:
            return "%s: exit %d: %s" % (backend, done.returncode, done.stderr.strip())
    apart = difference(written("cuda.h5"), written("cpu.h5"))
    return "well" if apart <= most else "%.3g apart" % apart


def main():
    failed = 0
    for name, arguments in FILES.items():
        done = run("generate", *arguments, "-o", name + ".h5", "--quiet")
        if done.returncode != 0:
            print("generate %s: %s" % (name, done.stderr.strip()))
            failed = 1
    done = run("smooth", "varying.h5", "-o", "first.h5", "--quiet", "--backend", "cuda")
    if done.returncode == 5 and "no CUDA device 0" in done.stderr:
        print(done.stderr.strip())
        return 77
    for command, source, both, of_device, most in CASES:
        begun = time.monotonic()
        try:
            ended = try_case(command, source, both, of_device, most)
        except OSError as error:
            ended = str(error)
        failed |= not ended.startswith("well")
        print("%-6s %s %s: %s, %.1f s" % (command, source, " ".join(both + of_device), ended,
                                         time.monotonic() - begun), flush=True)
    return failed


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    code = main()
    os.chdir("/")
sys.exit(code)
