"""Run the commands of one case file and compare what they print and how they end.

    $ COMMAND           run by sh in a fresh folder that make_files.py filled
    text                expected line of stdout
    2> text             expected line of stderr
    exit N              expected exit code, 0 when not stated
    # text              a remark

`...` within a line stands for any text, a line of its own for any number of lines.
usage: run_case.py KALSCAN CASE [--update]
--update writes what was printed where it differs."""
import os
import re
import subprocess
import sys
import tempfile


def parse(path):
    """(remarks before, command, expected lines) for each step."""
    steps, remarks = [], []
    for line in open(path).read().splitlines():
        if line.startswith("$ "):
            steps.append((remarks, line[2:], []))
            remarks = []
        elif line.startswith("# ") or not steps:
            remarks.append(line)
        else:
            steps[-1][2].append(line)
    return steps, remarks


def pattern(lines):
    parts = []
    for line in lines:
        if line == "...":
            parts.append(r"(?:[^\n]*\n)*?")
        else:
            parts.append(r"[^\n]*".join(re.escape(piece) for piece in line.split("...")) + r"\n")
    return re.compile("".join(parts) + r"\Z")


def split(expected):
    lines = [line for line in expected if line.strip()]
    code = next((int(line[5:]) for line in lines if re.fullmatch(r"exit \d+", line)), 0)
    error = [line[3:] for line in lines if line.startswith("2> ")]
    out = [line for line in lines if not line.startswith("2> ")
           and not re.fullmatch(r"exit \d+", line)]
    return out, error, code


def without_blank(text):
    return "".join(line + "\n" for line in text.splitlines() if line.strip())


def main():
    kalscan, case = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    here = os.path.dirname(os.path.abspath(__file__))
    steps, tail = parse(case)
    wrong, written = 0, []
    environment = dict(os.environ, PATH=os.path.dirname(kalscan) + ":" + os.environ["PATH"],
                       LC_ALL="C", PYTHONDONTWRITEBYTECODE="1", PYTHON=sys.executable)
    if not steps:
        sys.exit(f"{case}: no commands")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-B", here + "/make_files.py", folder], check=True)
        for remarks, command, expected in steps:
            p = subprocess.run(["sh", "-c", command], cwd=folder, env=environment, text=True,
                               capture_output=True, timeout=120, stdin=subprocess.DEVNULL)
            out, error, code = split(expected)
            good = (pattern(out).match(without_blank(p.stdout))
                    and pattern(error).match(without_blank(p.stderr)) and p.returncode == code)
            printed = p.stdout.splitlines() + ["2> " + line for line in p.stderr.splitlines()]
            printed += [f"exit {p.returncode}"] if p.returncode else []
            if not good:
                wrong += 1
                print(f"$ {command}\n--- expected\n" + "\n".join(expected) + "\n--- got\n"
                      + "\n".join(printed) + "\n")
            lines = expected if good else printed + [""]
            written += remarks + ["$ " + command] + lines
    if "--update" in sys.argv:
        open(case, "w").write("\n".join(written + tail) + "\n")
    print(f"{len(steps)} commands, {wrong} wrong")
    sys.exit(wrong > 0)


main()
