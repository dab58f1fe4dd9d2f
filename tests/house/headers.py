"""Every public header compiles alone, and twice, as C11 and as C++17, without a diagnostic; as C11 with the example
of its first comment, if it has one.

Usage: headers.py INCLUDE_DIR LANGUAGE COMPILER...    LANGUAGE is c or c++"""

import pathlib
import re
import subprocess
import sys

FLAGS = ["-pedantic-errors", "-Wall", "-Wextra", "-Wconversion", "-Wundef", "-Werror"]
STANDARD = {"c": ["-std=c11", "-Wstrict-prototypes"], "c++": ["-std=c++17"]}


# "Example: ..." and below it, behind an empty line, lines that are indented.
EXAMPLE = re.compile(r"^ \* Example:.*\n(?: \* .*\n)* \*\n((?: \*(?: {5}.*)?\n)+)", re.MULTILINE)


def example(header):
    """The code in the header's first comment, or ''; KeyError where "Example" is not followed by any."""
    comment = header.read_text(encoding="utf-8").partition("*/")[0]
    found = EXAMPLE.search(comment)
    if not found and "Example" in comment:
        raise KeyError(f"{header.name}: no code below 'Example'")
    return re.sub(r"^ \*(?: {5})?", "", found[1], flags=re.MULTILINE) if found else ""


def check(compiler, language, include, header):
    """Compiler messages about a file that holds nothing but the header, and its example, or ''."""
    name = header.relative_to(include).as_posix()
    text = f"#include <{name}>\n#include <{name}>\nextern int not_empty;\n"
    code = example(header) if language == "c" else ""
    if code:
        text += f"#include <stdio.h>\n#include <stdlib.h>\n{code}"
    command = [*compiler, "-x", language, *STANDARD[language], *FLAGS, "-fsyntax-only",
               f"-I{include}", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"{name}:\n{done.stderr}"


def main():
    include, language, compiler = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    headers = sorted(include.rglob("*.h"))
    problems = [p for p in (check(compiler, language, include, h) for h in headers) if p]
    print(*problems, sep="\n")
    examples = sum(bool(example(h)) for h in headers)
    print(f"{len(headers)} headers as {language}, {len(problems)} with problems; {examples} have an example, which is C")
    return 1 if problems or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
