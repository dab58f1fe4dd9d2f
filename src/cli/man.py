"""The manual page kalscan(1), on standard output, from what the command says of itself with --help.

usage: man.py KALSCAN"""
import re
import subprocess
import sys

# Column of an option's help, where ks_options_print() puts it.
HELP = 27
# Sections that several commands print alike, and their titles in the page.
SHARED = {"Model": "MODEL", "Log-likelihood": "LOG-LIKELIHOOD", "Exit codes": "EXIT STATUS",
          "Examples": "EXAMPLES"}
ESCAPES = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti"}


def roff(text):
    text = "".join(ESCAPES.get(letter, letter) for letter in text)
    return "\\&" + text if text.startswith(".") else text


def as_is(lines):
    """Lines as they are broken, unless one is too long for a page."""
    text = [roff(line) for line in lines]
    return [".PP", *(line.strip() for line in text)] if max(map(len, lines)) > 100 else [".PP", ".nf", *text, ".fi"]


def options(lines):
    page = []
    for line in lines:
        if line.startswith("  -"):
            beside = line[HELP - 1:HELP] == " "
            page += [".TP", ".B " + roff(line[:HELP].strip() if beside else line.strip())]
            line = line[HELP:] if beside else ""
        if line.strip():
            page.append(roff(line.strip()))
    return page


def sections(text):
    """(title or none, lines) of what stands between empty lines; a title is followed by indented lines."""
    for part in text.strip("\n").split("\n\n"):
        lines = part.split("\n")
        if len(lines) > 1 and not lines[0].startswith(" ") and lines[1].startswith("  "):
            yield lines[0], lines[1:]
        else:
            yield "", lines


def main():
    def say(*arguments):
        return subprocess.run([sys.argv[1], *arguments], check=True, capture_output=True, text=True).stdout

    shared = {}
    _, (_, purpose), (heading, commands), *rest = sections(say("--help"))
    shared.update(dict(rest))
    body, usages = [], []
    for name in [line.split()[0] for line in commands]:
        (_, (usage, *_)), *parts = sections(say(name, "--help"))
        usage = re.sub("^usage: ", "", usage)
        usages += [".B " + roff(usage), ".br"]
        body.append(".SS " + roff(usage))
        for title, lines in parts:
            if title == "Options":
                indented = [line for line in lines if line.startswith("  ")]
                body += options(indented)
                if lines[len(indented):]:
                    body += as_is(lines[len(indented):])
            elif title in SHARED:
                shared[title] = lines
            else:
                body += as_is([title, *lines] if title else lines)
    page = [".TH KALSCAN 1 \"\" \"" + roff(say("--version").strip()) + "\" \"User Commands\"",
            ".SH NAME", "kalscan \\- " + roff(purpose[0].rstrip(".")[0].lower() + purpose[0].rstrip(".")[1:]),
            ".SH SYNOPSIS", *usages[:-1], ".SH DESCRIPTION", *(roff(line) for line in purpose), *as_is([heading, *commands]),
            *options(shared.pop("Options")), ".SH COMMANDS", *body]
    for title, name in SHARED.items():
        page += [".SH " + roff(name), *as_is(shared[title])]
    print("\n".join(page))


if __name__ == "__main__":
    main()
