"""Meson sets up the builds that others than its own tests ask for, and they would install what they should. Where
something is missing it says what to do.

usage: configure.py SOURCE_ROOT"""
import json
import os
import pathlib
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
        places = introspect(folder, "--installed").values()
        names = {name.rpartition("/")[2] for name in places}
        found = {name for name in names if name.startswith("libkalscan.") and name.count(".") == 1}
        assert found == LIBRARIES[libraries], (options, names)
        assert {"kalscan.pc", "smooth.h"} <= names, (options, names)
        program = any(name.endswith("/bin/kalscan") for name in places)
        assert (program, "kalscan.1" in names) == (command, command), (options, names)
        # Without the command nothing looks for HDF5.
        depends = {dependency["name"] for dependency in introspect(folder, "--dependencies")}
        assert ("hdf5" in depends) == command and "openblas" in depends, (options, depends)
        tests = introspect(folder, "--tests")
        assert bool(tests) == (command and "-Dtests=false" not in options), (options, len(tests))
        print(*options, *sorted(found))


def without(names, options):
    """What is said where pkg-config and the path have no files of these names; nothing where all is well."""
    with tempfile.TemporaryDirectory() as folder:
        base = pathlib.Path(folder)
        (base / "pc").mkdir()
        (base / "bin").mkdir()
        places = subprocess.run(["pkg-config", "--variable=pc_path", "pkg-config"], check=True, capture_output=True,
                                text=True).stdout.strip()
        for place in map(pathlib.Path, places.split(":")):
            for file in place.glob("*.pc"):
                if not file.name.startswith(names) and not (base / "pc" / file.name).exists():
                    (base / "pc" / file.name).symlink_to(file)
        # Meson asks compilers of HDF5, too, and CMake. It looks for a version in what those say that fail.
        for name in ("h5cc", "h5pcc", "cmake"):
            (base / "bin" / name).write_text("#!/bin/sh\necho HDF5 Version: 0.0.0\nexit 1\n")
            (base / "bin" / name).chmod(0o755)
        done = subprocess.run(["meson", "setup", base / "build", sys.argv[1], "-Dcuda=disabled", *options], text=True,
                              capture_output=True, env={**os.environ, "PKG_CONFIG_LIBDIR": str(base / "pc"),
                                                        "PATH": f"{base / 'bin'}:{os.environ['PATH']}"})
        return "" if done.returncode == 0 else done.stdout


assert "-Dcli=disabled leaves the command out" in without(("hdf5",), [])
assert "-Dtests=false leaves them out" in without(("cmocka",), [])
assert not without(("hdf5", "cmocka"), ["-Dcli=auto"])
check(["-Dcli=disabled"], "both", False)
check(["-Ddefault_library=shared"], "shared", True)
check(["-Ddefault_library=static", "-Dtests=false"], "static", True)
