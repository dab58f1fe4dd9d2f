"""Sum up Meson test logs: python3 summary.py [--broken N] testlog.json...

Prints one line per log and, alone on the last line, 'N passed, N failed'. --broken adds N failures
that left no log, such as a build that did not compile, and a log in which nothing passed counts as
one. Exit status 0 only if something passed and nothing failed."""

import argparse
import collections
import json
import pathlib
import sys

PASSED = {"OK", "EXPECTEDFAIL"}
SKIPPED = {"SKIP", "IGNORED"}


def results(path):
    """The results of one log, which holds one JSON object per line."""
    with open(path, encoding="utf-8") as log:
        return [json.loads(line)["result"] for line in log if line.strip()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--broken", type=int, default=0)
    parser.add_argument("logs", nargs="*")
    arguments = parser.parse_args()
    passed, failed = 0, arguments.broken
    for path in arguments.logs:
        count = collections.Counter(results(path))
        good = sum(count[r] for r in PASSED)
        skipped = sum(count[r] for r in SKIPPED)
        bad = sum(count.values()) - good - skipped
        if not good and not bad:
            bad = 1
        print(f"{pathlib.Path(path).stem}: {good} passed, {bad} failed, {skipped} skipped")
        passed += good
        failed += bad
    if arguments.broken:
        print(f"builds that failed: {arguments.broken}")
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
