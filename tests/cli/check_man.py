"""The manual page has every command with every option that it takes, and all that --help says.

usage: check_man.py KALSCAN PAGE"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

kalscan, name = sys.argv[1:3]
page = open(name, encoding="utf-8").read()


def run(*arguments):
    done = subprocess.run([kalscan, *arguments], capture_output=True, text=True)
    return done.stdout + done.stderr


def listed(message, start):
    return message.strip().split(start)[1].split(", ")


def bare(text):
    return re.sub(r"\s", "", text)


# What the command says it knows, not what its help lists.
commands = listed(run("none"), "has ")
sections = dict(zip(commands, re.split(r"^\.S[SH] .*\n", page.partition(".SH COMMANDS\n")[2], flags=re.M)[1:]))
assert [f"kalscan {c}" in page for c in commands] == [True] * len(commands) and len(commands) >= 7, commands
for command in commands:
    known = set(listed(run(command, "--xyz"), "knows "))
    told = set(re.findall(r"^\.B (?:\\-\w, )?(\\-\\-\S+)", sections[command], flags=re.M))
    assert {option.replace("\\", "") for option in told} == known, (command, known)

# What the examples show can be done.
examples = [line.split()[1:] for line in run("--help").partition("\nExamples\n")[2].split("\n\n")[0].splitlines()]
assert len(examples) > 4 and page.index(".SH EXAMPLES") > page.index(".SH EXIT STATUS")
with tempfile.TemporaryDirectory() as folder:
    for example in examples:
        subprocess.run([os.path.abspath(kalscan), *example], cwd=folder, check=True, capture_output=True)

# As a reader sees it, where there is groff to set it.
if shutil.which("groff"):
    done = subprocess.run(["groff", "-man", "-Tascii", "-ww", "-rLL=400n", "-rHY=0", "-P-c", "-P-b", "-P-u", name],
                          capture_output=True, text=True, check=True)
    shown = bare(done.stdout)
    assert not done.stderr, done.stderr
    for command in ["", *commands]:
        for part in run(*command.split(), "--help").partition("\n\n")[2].split("\n\n"):
            # Titles of sections that stand once in the page are in other letters there.
            first, _, rest = part.partition("\n")
            for text in [first, rest] if rest.startswith("  ") else [part]:
                assert bare(text).lower() in shown.lower() or text == "Exit codes", (command, text)
print(len(commands), "commands")
