"""What the documents show is true.

Usage: docs.py SOURCE_ROOT KALSCAN EXAMPLES_DIR
In README.md, a fenced block of the language `console` holds commands behind `$ ` and below each what
it prints: they are run, and must print just that, durations and the rounding of numbers aside.
Lines of its `c` block must stand in examples/smooth.c. The `python` block of docs/format.md is run,
and kalscan must smooth the file it makes. Relative links must lead somewhere."""

import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)[^)]*\)")
DURATION = re.compile(r"\b[\d.]+(e-?\d+)? ?(ns|us|µs|ms|s|min)\b")


def blocks(document, language):
    return [text for name, text in FENCE.findall(document.read_text(encoding="utf-8"))
            if name == language]


def words(text):
    """Text without durations and without how it is broken into lines and columns."""
    return DURATION.sub("TIME", text).split()


def same(a, b):
    """Equal words, or numbers that differ by the rounding of another processor's arithmetic."""
    try:
        return a == b or math.isclose(float(a), float(b), rel_tol=1e-9)
    except ValueError:
        return False


def same_text(a, b):
    a, b = words(a), words(b)
    return len(a) == len(b) and all(map(same, a, b))


def run(command, folder, path):
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True,
                          check=False, env={**os.environ, "PATH": path})
    return done.stdout if done.returncode == 0 else f"{done.stdout}{done.stderr}{done.returncode}"


def check_console(text, folder, path):
    """Problems of one console block."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        program = pathlib.PurePosixPath(command.split()[0]).name
        actual = run(program + command[len(command.split()[0]):], folder, path)
        if not same_text(actual, expected):
            yield f"README.md: {command}\nshown:\n{expected}\nprinted:\n{actual}"


def check_c(readme, example):
    lines = {line.strip() for line in example.read_text(encoding="utf-8").splitlines()}
    for text in blocks(readme, "c"):
        for line in text.splitlines():
            if line.strip() not in lines:
                yield f"README.md: not in {example.name}: {line}"


def check_python(document, folder, path):
    for text in blocks(document, "python"):
        subprocess.run([sys.executable, "-c", text], cwd=folder, check=True)
        printed = run("kalscan smooth level.h5 -o out.h5 --quiet; echo $?", folder, path)
        if printed.split()[-1:] != ["0"]:
            yield f"{document.name}: kalscan does not take level.h5: {printed}"


def check_links(document):
    for target in LINK.findall(document.read_text(encoding="utf-8")):
        if not (document.parent / target).exists():
            yield f"{document.name}: nothing at {target}"


def main():
    root, kalscan, examples = (pathlib.Path(a).resolve() for a in sys.argv[1:4])
    readme, formats = root / "README.md", root / "docs" / "format.md"
    path = os.pathsep.join([str(kalscan.parent), str(examples), os.environ["PATH"]])
    problems = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        # The commands in README.md are for the root of a checkout: what they name is here too.
        (folder / "data").symlink_to(root / "data")
        (folder / "build").mkdir()
        for text in blocks(readme, "console"):
            problems += check_console(text, folder, path)
        problems += check_python(formats, folder, path)
    problems += check_c(readme, root / "examples" / "smooth.c")
    for document in [readme, *(root / "docs").glob("*.md"), root / "CONTRIBUTING.md",
                     root / "CHANGELOG.md"]:
        problems += check_links(document)
    print(*problems, sep="\n")
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
