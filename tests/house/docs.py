"""What the documents show is true.

Usage: docs.py SOURCE_ROOT KALSCAN EXAMPLES_DIR [LIBRARY]
In README.md, a fenced block of the language `console` holds commands behind `$ ` and below each what
it prints: they are run, and must print just that, durations and the rounding of numbers aside.
Lines of its `c` block must stand in examples/smooth.c. `python` blocks are run, those of a document one after
the other, as far as the packages are there that they import, and kalscan must smooth the file that docs/format.md
makes. The table of speed is that of docs/performance.md, the figure what examples/co2_figure.py draws; examples that
are called wrongly say how they are called. Indented commands of docs/*.md are run, and must end well. The tables of
docs/counting.md are what `kalscan count` counts. Relative links must lead somewhere, to a heading where they name one."""

import ast
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)")
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


# Blocks that import what a test needs not have are left out by name; any other failure ends the program.
RUN_BLOCKS = """
import json, sys
names, absent = {}, json.loads(sys.argv[2])
for text in json.loads(sys.argv[1]):
    try:
        exec(text, names)
    except ModuleNotFoundError as error:
        if error.name not in absent:
            raise
        print("not run: a block that imports", error.name)
"""


def names(block, context):
    return {node.id for node in ast.walk(ast.parse(block)) if isinstance(node, ast.Name) and isinstance(node.ctx, context)}


def check_names(document):
    """A page is one script, whichever packages are there: what a block takes from earlier ones is no name that one with
    packages of its own has given to something else."""
    texts, bound, own = blocks(document, "python"), set(), set()
    for text in texts:
        stored, imports = names(text, ast.Store), re.search(r"^(import|from) (pandas|scipy|statsmodels)", text, re.MULTILINE)
        for name in (names(text, ast.Load) - stored) & own:
            yield f"{document.name}: '{name}' is what another block has made of it: {text}"
        own |= stored & bound if imports else set()
        bound |= stored


def check_python(document, root, folder, path, library):
    """LIBRARY is none where Python cannot load it."""
    texts = blocks(document, "python")
    absent = ["pandas", "scipy", "statsmodels", *([] if library else ["likelihood"])]
    modules = [str(root / "examples")] if library else []
    done = subprocess.run([sys.executable, "-B", "-c", RUN_BLOCKS, json.dumps(texts), json.dumps(absent)], cwd=folder,
                          capture_output=True, text=True, check=False,
                          env={**os.environ, "PATH": path, "PYTHONPATH": os.pathsep.join(modules),
                               "LIBKALSCAN": str(library)})
    print(document.name + ":", done.stdout.strip() or "all blocks run")
    if done.returncode:
        yield f"{document.name}: {done.stderr}"


def check_format(folder, path):
    printed = run("kalscan smooth level.h5 -o smooth_level.h5 --quiet; echo $?", folder, path)
    if printed.split()[-1:] != ["0"]:
        yield f"format.md: kalscan does not take level.h5: {printed}"


def check_figure(root, folder, path):
    """Coordinates may differ by how a processor rounds."""
    run("kalscan smooth data/co2.h5 -o smoothed.h5 --quiet", folder, path)
    subprocess.run([sys.executable, "-B", root / "examples" / "co2_figure.py", "smoothed.h5", "co2.svg"], cwd=folder,
                   check=True)
    shown, drawn = (re.split(r"(-?\d+\.\d)(?!\d)", (place / "co2.svg").read_text(encoding="utf-8"))
                    for place in (root / "docs", folder))
    if shown[::2] != drawn[::2] or any(abs(float(a) - float(b)) > 0.11 for a, b in zip(shown[1::2], drawn[1::2])):
        yield "docs/co2.svg: not what examples/co2_figure.py draws"


def check_usage(root):
    """What is called wrongly, or finds no kalscan, says how it is called."""
    for name, *arguments in (("rotation.py", "/nowhere/kalscan"), ("co2_figure.py",)):
        done = subprocess.run([sys.executable, "-B", root / "examples" / name, *arguments], capture_output=True, text=True,
                              check=False)
        if done.returncode != 1 or not done.stderr.startswith(f"usage: {name} "):
            yield f"examples/{name}: {done.stderr}"


def check_speed(readme, performance):
    """tests/bench/report writes both."""
    part = readme.read_text(encoding="utf-8").partition("<!-- speed: begin -->\n")[2].partition("<!-- speed: end")[0]
    if not part.startswith("| ") or "\n\n" + part + "\n" not in performance.read_text(encoding="utf-8"):
        yield "README.md: the table of speed is none of docs/performance.md"


def check_commands(document, folder, path):
    """Commands that stand on lines of their own; figures need gnuplot."""
    for command in re.findall(r"^    (kalscan .*)$", document.read_text(encoding="utf-8"), re.MULTILINE):
        if "--plot" in command and not shutil.which("gnuplot"):
            continue
        printed = run(command + " > /dev/null; echo $?", folder, path)
        if printed.split()[-1:] != ["0"]:
            yield f"{document.name}: {command}\n{printed}"


def table(text, first):
    """Cells of the table that begins with this head, without head and rule."""
    lines = text[text.index("\n" + first) + 1:].split("\n\n")[0].splitlines()
    return [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines[2:]]


def counted(folder, path, *arguments):
    return json.loads(run("kalscan count --json " + " ".join(arguments), folder, path))


def check_counts(document, folder, path):
    """Thousands of operations of the busiest thread."""
    text = document.read_text(encoding="utf-8")
    scans = ["hillis-steele", "blelloch", "ladner-fischer", "sengupta:1", "sengupta:15000", "chunked"]
    found = {(r["T"], r["method"], r["scan"]): f"{r['time_flops'] / 1e3:.1f}"
             for r in counted(folder, path, "--T 1e3,1e4,1e5,1e6 --threads 15000")}
    shown = {(int(float(T)), method, scan): cell for T, method, *cells in table(text, "| T | method | hillis-steele |")
             for scan, cell in zip(scans, cells)}
    threads = [1, 2, 16, 1000]
    for r in counted(folder, path, "--T 1e4 --threads", ",".join(map(str, threads)),
                     "--method blocktri,scan-rts,sequential --scan ladner-fischer"):
        found[r["method"], r["threads"], r["order"] if r["method"] == "blocktri" else r["scan"]] = \
            f"{r['time_flops'] / 1e3:.0f}"
    method = ""
    for name, how, *cells in table(text, "| method | | P = 1 |"):
        method = name or method
        shown.update({(method, P, how or "none"): cell for P, cell in zip(threads, cells)})
    for key in found.keys() | shown.keys():
        if found.get(key) != shown.get(key):
            yield f"{document.name}: {key}: shown {shown.get(key)}, counted {found.get(key)}"


def anchors(document):
    """What GitHub makes of headings: words in small letters, of several alike the later ones numbered."""
    found = set()
    text = re.sub(r"^```.*?^```$", "", document.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        name = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found.add(next(n for n in (name, *(f"{name}-{i}" for i in range(1, 99))) if n not in found))
    return found


def check_links(document):
    for target, anchor in LINK.findall(document.read_text(encoding="utf-8")):
        to = document.parent / target if target else document
        if not to.exists():
            yield f"{document}: nothing at {target}"
        elif anchor and to.suffix == ".md" and anchor not in anchors(to):
            yield f"{document}: no heading of {to.name} is #{anchor}"


def main():
    root, kalscan, examples = (pathlib.Path(a).resolve() for a in sys.argv[1:4])
    library = pathlib.Path(sys.argv[4]).resolve() if len(sys.argv) > 4 else ""
    readme, docs = root / "README.md", root / "docs"
    path = os.pathsep.join([str(kalscan.parent), str(examples), os.environ["PATH"]])
    problems = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        # The commands in README.md are for the root of a checkout: what they name is here too.
        (folder / "data").symlink_to(root / "data")
        (folder / "build").mkdir()
        for document in (readme, docs / "format.md", docs / "python.md"):
            problems += check_python(document, root, folder, path, library)
            problems += check_names(document)
        for text in blocks(readme, "console"):
            problems += check_console(text, folder, path)
        problems += check_format(folder, path)
        problems += check_figure(root, folder, path)
        problems += check_usage(root)
        for document in docs.glob("*.md"):
            problems += check_commands(document, folder, path)
        problems += check_counts(docs / "counting.md", folder, path)
    problems += check_speed(readme, docs / "performance.md")
    problems += check_c(readme, root / "examples" / "smooth.c")
    for document in [readme, *docs.glob("*.md"), root / "CONTRIBUTING.md", root / "CHANGELOG.md",
                     *root.glob("tests/gpu/**/README.md"), root / "data" / "README.md"]:
        problems += check_links(document)
    print(*problems, sep="\n")
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
