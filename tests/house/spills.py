"""Registers, stack and spills of CUDA kernels, from what `nvcc -Xptxas -v` wrote, and its processor time.

Usage: spills.py [--lean NAME]... [--read-only NAME]... LOG...
Prints a line per kernel and the time. Fails if a kernel whose mangled name contains a NAME of --lean uses stack or
spills, if no kernel contains it, if a function whose name contains none of --read-only loads memory as if
nobody wrote it meanwhile, or if a log does not say how long nvcc took."""

import argparse
import os
import re
import sys

KERNEL = re.compile(r"Compiling entry function '(\w+)' for '(\w+)'")
FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
REGISTERS = re.compile(r"Used (\d+) registers(?:.* (\d+) bytes cumulative stack size)?")
READ_ONLY = re.compile(r"^read-only loads: (\w+) (\d+)$", re.M)
LOOKED = re.compile(r"^functions looked through: [1-9]", re.M)
TIME = re.compile(r"^(\d+)m([\d.]+)s (\d+)m([\d.]+)s$", re.M)


def seconds_of(text):
    """Processor time that nvcc took, user and system; None where the log does not say."""
    found = TIME.findall(text.partition("processor time:")[2])
    if len(found) != 2:
        return None
    return sum(60 * float(found[1][i]) + float(found[1][i + 1]) for i in (0, 2))


def parse(text):
    """A list of kernels: dicts with name, architecture, stack, stores, loads, registers."""
    kernels = []
    for line in text.splitlines():
        kernel, frame, registers = KERNEL.search(line), FRAME.search(line), REGISTERS.search(line)
        if kernel:
            kernels.append({"name": kernel[1], "arch": kernel[2], "stack": None, "stores": None,
                            "loads": None, "registers": None})
        elif frame and kernels and kernels[-1]["stack"] is None:
            kernels[-1].update(zip(("stack", "stores", "loads"), map(int, frame.groups())))
        elif registers and kernels:
            kernels[-1]["registers"] = int(registers[1])
            # With the functions that it calls.
            kernels[-1]["stack"] = max(kernels[-1]["stack"] or 0, int(registers[2] or 0))
    return kernels


def problems_of(kernels, lean):
    """What is wrong with the kernels that must be lean."""
    for name in lean:
        chosen = [k for k in kernels if name in k["name"]]
        if not chosen:
            yield f"no kernel is called {name}"
        for k in chosen:
            if (k["stack"], k["stores"], k["loads"]) != (0, 0, 0):
                yield (f"{k['name']} ({k['arch']}): stack {k['stack']}, "
                       f"spills {k['stores']} + {k['loads']} bytes")


def stale(text, allowed):
    """Functions that might load what another thread has written since: nvcc takes the word of `restrict` for it that
    nobody does. And a log that does not say that they were looked for."""
    if not LOOKED.search(text):
        yield "no functions were looked through for ld.global.nc"
    for name, loads in READ_ONLY.findall(text):
        if not any(part in name for part in allowed):
            yield f"{name} has {loads} loads past what the kernel itself may write (ld.global.nc)"


def untimed(seconds):
    """What logs do not say of their time; all together is printed."""
    yield from (f"{log} does not say how long nvcc took" for log in seconds if seconds[log] is None)
    total = sum(s for s in seconds.values() if s is not None)
    print(f"nvcc: {total:.0f} s of processor time, " +
          ", ".join(f"{os.path.basename(log)} {s:.0f}" for log, s in seconds.items() if s is not None))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lean", action="append", default=[])
    parser.add_argument("--read-only", action="append", default=[])
    parser.add_argument("logs", nargs="+")
    arguments = parser.parse_args()
    kernels, seconds, problems = [], {}, []
    for log in arguments.logs:
        with open(log, encoding="utf-8") as file:
            text = file.read()
        kernels += parse(text)
        seconds[log] = seconds_of(text)
        problems += stale(text, arguments.read_only)
    for k in kernels:
        print(f"{k['registers']} registers, {k['stack']} stack, {k['stores']} + {k['loads']} "
              f"spilled: {k['name']}")
    problems += problems_of(kernels, arguments.lean)
    problems += untimed(seconds)
    print(*problems, sep="\n")
    return 1 if problems or not kernels else 0


if __name__ == "__main__":
    sys.exit(main())
