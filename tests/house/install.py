"""Install into an empty folder and use the result as a stranger would.

Usage: install.py BUILD_DIR INCLUDE_DIR CC CXX
`meson install` into a staging folder, where all public headers must be; then, through pkg-config alone, a C and a C++ program are
compiled against the shared and against the static library and run. Both must print the version
that pkg-config tells, which must need no other package for it. The installed command must run too, and its manual page be
there. Documents lie as they do in the source, so that what one of them links is there, but for tests, which are not
installed."""

import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

PROGRAM = r"""
#include <stdio.h>
#include <kalscan/scan.h>
#include <kalscan/smooth.h>
int main(void)
{
    ks_smooth_plan *plan = NULL;
    ks_smooth_options options = KS_SMOOTH_OPTIONS_INIT;
    ks_status status = ks_smooth_plan_create(&plan, NULL, 100, 1, 2, 1, &options);
    if (status != KS_OK || plan == NULL) {
        fprintf(stderr, "%s\n", ks_strerror(status));
        return 1;
    }
    ks_smooth_plan_destroy(plan);
    puts(ks_version());
    return 0;
}
"""


class Failed(Exception):
    """A command failed; the text says which and what it said."""


def run(*command, env=None):
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          env={**os.environ, **(env or {})})
    if done.returncode:
        raise Failed(f"{shlex.join(map(str, command))}: status {done.returncode}\n"
                     f"{done.stdout}{done.stderr}")
    return done.stdout.strip()


def one(folder, pattern):
    """The only file below a folder that fits a pattern."""
    found = [p for p in folder.rglob(pattern) if p.is_file() and not p.is_symlink()]
    if len(found) != 1:
        raise Failed(f"{pattern}: {found}")
    return found[0]


def use(stage, compilers, work):
    """Compile, link and run the program in both languages against both libraries."""
    config = one(stage, "kalscan.pc")
    if str(stage) in config.read_text(encoding="utf-8"):
        raise Failed("kalscan.pc names the staging folder")
    libdir = one(stage, "libkalscan.so.*").parent
    # Nothing but the path: the file finds its own prefix, also in a folder that was moved.
    env = {"PKG_CONFIG_PATH": str(config.parent)}

    def ask(*options):
        return shlex.split(run("pkg-config", *options, "kalscan", env=env))

    # Who links the shared library has no other package: kalscan.pc alone must do.
    alone = {**env, "PKG_CONFIG_LIBDIR": str(config.parent)}
    for what in (["--cflags"], ["--libs"], ["--cflags", "--libs", "--static"]):
        if run("pkg-config", *what, "kalscan", env=alone).split() != ask(*what):
            raise Failed(f"kalscan.pc needs other modules for pkg-config {' '.join(what)}")
    version, cflags = ask("--modversion")[0], ask("--cflags")
    shared, static = ask("--libs"), ask("--libs", "--static")
    static = [one(libdir, "libkalscan.a") if word == "-lkalscan" else word for word in static]
    for language, suffix in [("c", ".c"), ("c++", ".cpp")]:
        source = work / ("program" + suffix)
        source.write_text(PROGRAM, encoding="utf-8")
        for name, libs in [("shared", shared), ("static", static)]:
            program = work / f"{name}-{language}"
            run(*compilers[language], *cflags, source, "-o", program, *libs)
            needs = run("readelf", "-d", program)
            if ("libkalscan.so.0" in needs) != (name == "shared"):
                raise Failed(f"{program.name} is not linked {name}")
            path = {"LD_LIBRARY_PATH": str(libdir)} if name == "shared" else {}
            if run(program, env=path) != version:
                raise Failed(f"{program.name} is not version {version}")
            print(f"{program.name}: {version}")


    everything_static(work / "program.c", compilers["c"], [*cflags, *ask("--libs", "--static")], version)


def documents(stage):
    """README.md, and whatever it and the other documents link."""
    top = one(stage, "kalscan/README.md").parent
    found = 0
    for document in [*sorted(top.glob("*.md")), *sorted((top / "docs").glob("*.md"))]:
        for link in re.findall(r"\]\(([^)#:]+)[^):]*\)", document.read_text(encoding="utf-8")):
            to = pathlib.Path(os.path.normpath(document.parent / link))
            if to.relative_to(top).parts[0] == "tests":
                continue
            if not to.exists():
                raise Failed(f"{document.relative_to(top)} links {link}, which is not installed")
            found += 1
    if found < 20 or not list(top.glob("examples/*.c")):
        raise Failed(f"{found} links between documents of {top}")
    print(f"{found} links between documents")


def everything_static(source, compiler, words, version):
    """As README.md says it; where the system has no static OpenBLAS or C library there is nothing to try."""
    program = source.parent / "static"
    try:
        run(*compiler, "-static", source, "-o", program, *words)
    except Failed as failure:
        if "cannot find -l" not in str(failure):
            raise
        print("no static libraries of the system: not tried")
        return
    if "NEEDED" in run("readelf", "-d", program) or run(program) != version:
        raise Failed(f"{program.name} is not static, or not version {version}")
    print(f"{program.name}: {version}")


def main():
    build, include = sys.argv[1], pathlib.Path(sys.argv[2])
    compilers = {"c": shlex.split(sys.argv[3]), "c++": shlex.split(sys.argv[4])}
    with tempfile.TemporaryDirectory() as folder:
        stage, work = pathlib.Path(folder, "stage"), pathlib.Path(folder, "work")
        work.mkdir()
        try:
            run("meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", stage)
            installed, public = ({p.name for p in folder.rglob("kalscan/*.h")}
                                 for folder in (stage, include))
            if installed != public:
                raise Failed(f"not installed, or not public: {installed ^ public}")
            use(stage, compilers, work)
            for command in stage.rglob("bin/kalscan"):
                print(run(command, "--version"))
                one(stage, "man1/kalscan.1")
            documents(stage)
        except Failed as failure:
            print(failure)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
