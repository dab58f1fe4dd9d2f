"""What the built libraries show to the world.

Usage: symbols.py INCLUDE_DIR SHARED STATIC
The shared library exports exactly the KS_API functions of the public headers, has a versioned
soname, and needs neither HDF5 nor anything that prints, exits or reads the environment; every
global symbol of the static library begins with ks_."""

import pathlib
import re
import subprocess
import sys

DECLARATION = re.compile(r"^KS_API\b[^;{(]*?\b(\w+)\s*\(", re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
# C library calls that a library of values must not make. __assert_fail is of debug builds only.
FORBIDDEN = re.compile(r"(__)?v?f?d?printf(_chk)?|f?puts|f?putc|putchar|perror|_?exit|_Exit|abort"
                       r"|quick_exit|(secure_)?getenv|setenv|signal|sigaction|srand|rand|H5\w+")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def declared(include):
    names = set()
    for header in include.rglob("*.h"):
        names.update(DECLARATION.findall(COMMENT.sub("", header.read_text(encoding="utf-8"))))
    return names


def symbols(*arguments):
    """Names that nm prints, without symbol versions."""
    lines = output("nm", "-P", *arguments).splitlines()
    return {line.split()[0].split("@")[0] for line in lines if len(line.split()) >= 2}


def main():
    include, shared, static = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    problems = []
    public, exported = declared(include), symbols("-D", "--defined-only", shared)
    problems += [f"exported, but not declared KS_API: {n}" for n in sorted(exported - public)]
    problems += [f"declared KS_API, but not exported: {n}" for n in sorted(public - exported)]
    problems += [f"declared without the prefix ks_: {n}" for n in public if n[:3] != "ks_"]
    called = symbols("-D", "--undefined-only", shared)
    problems += [f"the library calls {n}" for n in sorted(called) if FORBIDDEN.fullmatch(n)]
    visible = symbols("-g", "--defined-only", static)
    problems += [f"global in the archive: {n}" for n in sorted(visible) if n[:3] != "ks_"]

    dynamic = output("readelf", "-d", shared)
    if "soname: [libkalscan.so.0]" not in dynamic:
        problems.append("the soname is not libkalscan.so.0")
    problems += [f"needs {n}" for n in re.findall(r"NEEDED.*\[(.*)\]", dynamic) if "hdf5" in n]

    print(*problems, sep="\n")
    print(f"{len(public)} public functions, {len(problems)} problems")
    return 1 if problems or not public else 0


if __name__ == "__main__":
    sys.exit(main())
