"""Meson sets up the builds that others than its own tests ask for, and they would install what they should.

usage: configure.py SOURCE_ROOT"""
import json
import subprocess
import sys
import tempfile

LIBRARIES = {"shared": {"libkalscan.so"}, "static": {"libkalscan.a"}, "both": {"libkalscan.so", "libkalscan.a"}}


def introspect(folder, *what):
    done = subprocess.run(["meson", "introspect", folder, *what], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def check(options, libraries, command):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["meson", "setup", folder, sys.argv[1], "-Dcuda=disabled", *options], text=True,
                              capture_output=True)
        assert done.returncode == 0, done.stdout + done.stderr
        names = {name.rpartition("/")[2] for name in introspect(folder, "--installed").values()}
        found = {name for name in names if name.startswith("libkalscan.") and name.count(".") == 1}
        assert found == LIBRARIES[libraries], (options, names)
        assert {"kalscan.pc", "smooth.h"} <= names, (options, names)
        assert ("kalscan" in names, "kalscan.1" in names) == (command, command), (options, names)
        # Without the command nothing looks for HDF5.
        depends = {dependency["name"] for dependency in introspect(folder, "--dependencies")}
        assert ("hdf5" in depends) == command and "openblas" in depends, (options, depends)
        tests = introspect(folder, "--tests")
        assert bool(tests) == (command and "-Dtests=false" not in options), (options, len(tests))
        print(*options, *sorted(found))


check(["-Dcli=disabled"], "both", False)
check(["-Ddefault_library=shared"], "shared", True)
check(["-Ddefault_library=static", "-Dtests=false"], "static", True)
