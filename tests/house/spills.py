"""Registers, stack and spills of CUDA kernels, from what `nvcc -Xptxas -v` wrote.

Usage: spills.py [--lean NAME]... LOG...
Prints a line per kernel. Fails if a kernel whose mangled name contains a NAME uses stack or
spills, or if no kernel contains it."""

import argparse
import re
import sys

KERNEL = re.compile(r"Compiling entry function '(\w+)' for '(\w+)'")
FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
REGISTERS = re.compile(r"Used (\d+) registers(?:.* (\d+) bytes cumulative stack size)?")


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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lean", action="append", default=[])
    parser.add_argument("logs", nargs="+")
    arguments = parser.parse_args()
    kernels = []
    for log in arguments.logs:
        with open(log, encoding="utf-8") as file:
            kernels += parse(file.read())
    for k in kernels:
        print(f"{k['registers']} registers, {k['stack']} stack, {k['stores']} + {k['loads']} "
              f"spilled: {k['name']}")
    problems = list(problems_of(kernels, arguments.lean))
    print(*problems, sep="\n")
    return 1 if problems or not kernels else 0


if __name__ == "__main__":
    sys.exit(main())
