"""spills.py reads ptxas and finds a kernel that spills, uses stack, or is missing."""

import unittest

import spills

LOG = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z4leanPd' for 'sm_90'
ptxas info    : Function properties for _Z4leanPd
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 30 registers, used 0 barriers, 360 bytes cmem[0]
ptxas info    : Compiling entry function '_Z5stackPd' for 'sm_90'
ptxas info    : Function properties for _Z5stackPd
    128 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 32 registers, used 0 barriers, 128 bytes cumulative stack size
ptxas info    : Compiling entry function '_Z5spillPd' for 'sm_90'
ptxas info    : Function properties for _Z5spillPd
    8 bytes stack frame, 8 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 255 registers, used 0 barriers
ptxas info    : Compiling entry function '_Z5callsPd' for 'sm_90'
ptxas info    : Function properties for _Z5callsPd
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers, used 0 barriers, 64 bytes cumulative stack size
"""
READS = """read-only loads: ks_reads_4 12
functions looked through: 3
"""
NONE = "functions looked through: 3\n"
TIMES = """processor time:
0m0.012s 0m0.005s
1m5.749s 0m0.779s
"""


class Spills(unittest.TestCase):
    def test_parse(self):
        kernels = spills.parse(LOG)
        self.assertEqual([k["registers"] for k in kernels], [30, 32, 255, 40])
        self.assertEqual([k["stack"] for k in kernels], [0, 128, 8, 64])

    def test_problems(self):
        kernels = spills.parse(LOG)
        self.assertEqual(list(spills.problems_of(kernels, ["lean"])), [])
        for name in ["stack", "spill", "calls", "absent"]:
            self.assertEqual(len(list(spills.problems_of(kernels, [name]))), 1, name)

    def test_stale(self):
        self.assertEqual(list(spills.stale(LOG + NONE + TIMES, [])), [])
        for text in LOG + TIMES, LOG + "functions looked through: 0\n" + TIMES:
            self.assertEqual(len(list(spills.stale(text, []))), 1)
        self.assertEqual(list(spills.stale(LOG + READS + TIMES, ["ks_reads_"])), [])
        self.assertEqual(len(list(spills.stale(LOG + READS + TIMES, ["ks_other"]))), 1)

    def test_seconds(self):
        self.assertAlmostEqual(spills.seconds_of(LOG + READS + TIMES), 66.528)
        self.assertIsNone(spills.seconds_of(LOG))
        self.assertEqual(list(spills.untimed({"a": 66.5, "b": 3.0})), [])
        self.assertEqual(len(list(spills.untimed({"a": 66.5, "b": None}))), 1)


if __name__ == "__main__":
    unittest.main()
