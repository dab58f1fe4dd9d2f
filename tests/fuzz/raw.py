"""Damaged HDF5 files: bytes of good files are changed, and each result is given to the command in a
process of its own.

Usage: raw.py KALSCAN FILE...    [--runs N] [--seed S]
The files are models; a system is made and damaged too.
Whatever the bytes, `kalscan info` and `kalscan smooth` (`solve` for the system) must end with a documented exit code, say
something on stderr when they fail, and leave an output only when they succeed. A process that the
HDF5 library brings down (its frame is the top one that the sanitizer shows) is counted and shown,
and is no failure of this test; one that falls in our code is."""

import argparse
import collections
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import h5py
import numpy as np

EXIT_CODES = {0, 1, 3, 4, 5}
FRAME = re.compile(r"^\s*#\d+ 0x\w+ (.*)$", re.MULTILINE)
# Frames that stand above whoever is to blame.
ABOVE = re.compile(r"__interceptor_|__asan_|__sanitizer|libc\.so|in mem(cpy|move|set)|in (abort|[cm]alloc|realloc)\b")


def damage(good, chooser):
    """A copy with a few bytes changed, mostly in the first kilobytes, where the structure lies."""
    data = bytearray(good)
    for _ in range(chooser.choice([1, 1, 1, 2, 4, 16])):
        limit = len(data) if chooser.random() < 0.3 else min(len(data), 4096)
        at = chooser.randrange(limit)
        kind = chooser.randrange(4)
        if kind == 0:
            data[at] ^= 1 << chooser.randrange(8)
        elif kind == 1:
            data[at] = chooser.choice([0, 1, 0x7F, 0x80, 0xFF])
        elif kind == 2:
            data[at:at + 8] = chooser.randbytes(8)
        else:
            data[at:at + 8] = b"\xff" * 8
    if chooser.random() < 0.05:
        del data[chooser.randrange(len(data)):]
    return bytes(data)


def fault_of(command, output, codes):
    """(what is wrong, whether it is ours) after one run; (None, False) when all is well. Counts the
    exit statuses in codes."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                              timeout=60, check=False)
    except subprocess.TimeoutExpired:
        return "does not end", True
    codes[done.returncode] += 1
    if done.returncode in EXIT_CODES and "Sanitizer" not in done.stderr:
        if done.returncode and not done.stderr.strip():
            return f"exit status {done.returncode} without a message", True
        if output is not None and output.exists() != (done.returncode == 0):
            return f"exit status {done.returncode}, output there: {output.exists()}", True
        return None, False
    frames = [f for f in FRAME.findall(done.stderr) if not ABOVE.search(f)]
    ours = not frames or "libhdf5" not in frames[0]
    return f"exit status {done.returncode}\n{done.stderr[:3000]}", ours


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("kalscan")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    chooser = random.Random(arguments.seed)
    good = [("smooth", pathlib.Path(f).read_bytes()) for f in arguments.files]
    ours, library, codes = 0, 0, collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        bad, output = pathlib.Path(folder, "bad.h5"), pathlib.Path(folder, "out.h5")
        with h5py.File(bad, "w") as f:
            f["D"], f["L"] = np.tile(4 * np.eye(3), (9, 1, 1)), np.ones((8, 3, 3)) / 2
            f["b"] = np.ones((9, 3))
        good.append(("solve", bad.read_bytes()))
        for number in range(arguments.runs):
            job, data = chooser.choice(good)
            bad.write_bytes(damage(data, chooser))
            for command in (["info", bad], [job, bad, "-o", output]):
                output.unlink(missing_ok=True)
                fault, is_ours = fault_of([arguments.kalscan, *command],
                                          output if command[0] == job else None, codes)
                if not fault:
                    continue
                ours += is_ours
                library += not is_ours
                print(f"run {number}, {command[0]}, {'ours' if is_ours else 'HDF5'}: {fault}")
                if is_ours:
                    pathlib.Path(f"bad-{arguments.seed}-{number}.h5").write_bytes(
                        bad.read_bytes())
    print("exit statuses:", *(f"{code} x {n}" for code, n in sorted(codes.items())))
    print(f"{arguments.runs} damaged files: {ours} faults of ours, {library} in libhdf5")
    return 1 if ours else 0


if __name__ == "__main__":
    sys.exit(main())
