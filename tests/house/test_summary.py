"""scripts/summary.py counts truly: the line, the exit status, and what counts as a failure."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "summary.py"


class Summary(unittest.TestCase):
    def summary(self, logs, *arguments):
        """(last line, exit status) for logs given as lists of results."""
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for i, results in enumerate(logs):
                path = pathlib.Path(folder, f"{i}.json")
                lines = [json.dumps({"name": "x", "result": r}) + "\n" for r in results]
                path.write_text("".join(lines), encoding="utf-8")
                paths.append(str(path))
            done = subprocess.run([sys.executable, str(SCRIPT), *arguments, *paths],
                                  capture_output=True, text=True, check=False)
            return done.stdout.splitlines()[-1], done.returncode

    def test_all_pass(self):
        self.assertEqual(self.summary([["OK"] * 3, ["OK", "EXPECTEDFAIL"]]),
                         ("5 passed, 0 failed", 0))

    def test_whatever_is_not_a_pass_or_a_skip_fails(self):
        for result in ["FAIL", "TIMEOUT", "ERROR", "INTERRUPT", "UNEXPECTEDPASS"]:
            self.assertEqual(self.summary([["OK", result]]), ("1 passed, 1 failed", 1), result)

    def test_skips_are_neither(self):
        self.assertEqual(self.summary([["OK", "SKIP"]]), ("1 passed, 0 failed", 0))

    def test_a_log_in_which_nothing_passed_fails(self):
        self.assertEqual(self.summary([[]]), ("0 passed, 1 failed", 1))
        self.assertEqual(self.summary([["OK"], ["SKIP"]]), ("1 passed, 1 failed", 1))

    def test_no_log_fails(self):
        self.assertEqual(self.summary([])[1], 1)

    def test_broken_builds_fail(self):
        self.assertEqual(self.summary([["OK"]], "--broken", "2"), ("1 passed, 2 failed", 1))


if __name__ == "__main__":
    unittest.main()
