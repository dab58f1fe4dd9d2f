"""Every public header compiles alone, and twice, as C11 and as C++17, without a diagnostic.

Usage: headers.py INCLUDE_DIR LANGUAGE COMPILER...    LANGUAGE is c or c++"""

import pathlib
import subprocess
import sys

FLAGS = ["-pedantic-errors", "-Wall", "-Wextra", "-Wconversion", "-Wundef", "-Werror"]
STANDARD = {"c": ["-std=c11", "-Wstrict-prototypes"], "c++": ["-std=c++17"]}


def check(compiler, language, include, header):
    """Compiler messages about a file that holds nothing but the header, or ''."""
    name = header.relative_to(include).as_posix()
    text = f"#include <{name}>\n#include <{name}>\nextern int not_empty;\n"
    command = [*compiler, "-x", language, *STANDARD[language], *FLAGS, "-fsyntax-only",
               f"-I{include}", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"{name}:\n{done.stderr}"


def main():
    include, language, compiler = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    headers = sorted(include.rglob("*.h"))
    problems = [p for p in (check(compiler, language, include, h) for h in headers) if p]
    print(*problems, sep="\n")
    print(f"{len(headers)} headers as {language}, {len(problems)} with problems")
    return 1 if problems or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
