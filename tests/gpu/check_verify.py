"""`verify` itself, with programs of the emulated device in the place of a real one's: what fails does not
hide the rest, what has no time left says so, and what benchmarks print is JSON and becomes a table.

usage: check_verify.py FOLDER_OF_PROGRAMS"""
import collections
import fnmatch
import json
import os
import re
import subprocess
import sys
import tempfile

built = os.path.abspath(sys.argv[1])
here = os.path.dirname(os.path.abspath(__file__))
# No time to spend: the first case alone, however busy the machine is.
EMULATED = {
    "bench_gpu_machine": ("emulated_bench_machine", "65536"),
    "bench_gpu_smooth": ("emulated_bench_smooth", "0", "1000"),
    "bench_gpu_map": ("emulated_bench_map", "0", "20"),
    "bench_gpu_blocktri": ("emulated_bench_blocktri", "60", "9", "33", "6", "3"),
    "test_gpu_device": ("test_gpu_emulated_device",),
}


def verify(folder, out, *sections):
    """Exit status, what was said, summary and results."""
    done = subprocess.run([os.path.join(here, "verify"), folder, out, *sections], capture_output=True,
                          text=True, timeout=120)
    lines = {}
    for name in ("summary", "results"):
        with open(os.path.join(out, name + ".json"), encoding="utf-8") as file:
            lines[name] = [json.loads(line) for line in file]
    return done.returncode, done.stdout, lines["summary"], lines["results"]


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n" + text + "\n")
    os.chmod(path, 0o755)


def emulated(folder):
    """Programs with the arguments that an emulated device has time for."""
    for name, (program, *arguments) in EMULATED.items():
        path = os.path.join(built, program)
        write(os.path.join(folder, name), '[ $# = 0 ] || [ "$*" != 0 ] || exec %s 0\nexec %s %s' % (
            path, path, " ".join(arguments)))


def check_benchmarks(folder, out):
    code, said, summary, results = verify(folder, out, "machine", "device", "smooth-speed",
                                          "map-speed", "blocktri-speed")
    assert code == 0, said
    assert [s["result"] for s in summary] == ["passed"] * 5, summary
    check_ways([r for r in results if r.get("job") == "solve"])
    what = {r["what"]: r for r in reversed(results) if "what" in r}
    for name in ("copy into the device", "copy out of the device", "copy inside the device"):
        assert what[name]["bytes"] > 0 and what[name]["ns"] > 0, what
    for name in ("launch after launch", "launch and wait", "node of a graph"):
        assert what[name]["ns"] > 0, what
    assert what["barrier of the grid"]["blocks"] >= 1, what
    timed = [r for r in results if "median_ns" in r]
    assert timed and all(r["min_ns"] <= r["median_ns"] <= r["max_ns"] for r in timed)
    assert any(r["scan"] == "chunked" for r in timed) and not any("status" in r for r in results)
    blocks = [r for r in timed if r["method"] == "blocktri"]
    assert {r["where"] for r in blocks} == {"device", "by-teams", "end-to-end", "cpu"}, blocks
    assert all(r["flops"] > 0 and r["error"] <= (1e-9 if r["precision"] == "f64" else 1e-3) for r in blocks)
    check_cells(results, (2, 4, 6, 8, 16, 32), 1000)
    rows = [line for line in said.splitlines() if line.startswith(("smooth ", "filter "))]
    left_out = [r for r in results if "left_out" in r]
    assert len(rows) == len(timed) + len(left_out) and left_out, said
    assert sum("left out, time: " in row for row in rows) == len(left_out), said
    assert "node of a graph: " in said


def check_cells(results, states, steps):
    """Each method has one line for the device's own work on each size, and one for the whole call: what was measured,
    or why it was not."""
    scans = ["ladner-fischer", "blelloch", "sengupta", "hillis-steele"]
    methods = ([("filter", "scan", s, p) for s in scans for p in ("f64", "f32")] +
               [("smooth", m, scans[0], p) for m in ("scan-rts", "scan-two-filter") for p in ("f64", "f32")] +
               [(job, method, "chunked", p) for p in ("f64", "f32", "mixed")
                for job, method in (("filter", "scan"), ("smooth", "scan-rts"))])
    of_scans = [r for r in results if r.get("method", "").startswith("scan") and r["T"] == steps]
    cells = collections.Counter((r["job"], r["method"], r["scan"], r["precision"], r["nx"], r["where"])
                                for r in of_scans if r["where"] in ("device", "end-to-end"))
    assert cells == {(*m, nx, where): 1 for m in methods for nx in states
                     for where in ("device", "end-to-end")}, cells
    assert all(("median_ns" in r) != ("left_out" in r) for r in of_scans), of_scans


def check_smooth():
    """Where there is time nothing is left out, and a series made on the device is that of the host; what is too large
    for memory says so."""
    def bench(*arguments):
        done = subprocess.run([os.path.join(built, "emulated_bench_smooth"), *arguments], capture_output=True,
                              text=True, timeout=120)
        assert done.returncode == 0, (arguments, done)
        return [json.loads(line) for line in done.stdout.splitlines()]
    results = bench("1000", "24", "2", "16")
    check_cells(results, (2, 4, 6, 8, 16), 24)
    assert not any("left_out" in r or "status" in r for r in results), results
    assert {r["where"] for r in results if "where" in r} - {"one-copier"} == {
        "device", "end-to-end", "dev-pieces", "dev-bulk", "dev-bulk-1", "dev-together"}
    results = bench("0", "1e7", "16", "32")
    reasons = {(r["T"], r["left_out"].split(":")[0]) for r in results if r.get("nx") == 32 and "left_out" in r}
    assert {(1000, "time"), (1000000, "memory of the device"), (10000000, "memory of the device")} <= reasons, reasons
    for steps in (1000, 10000, 100000, 1000000):
        check_cells(results, (16, 32), steps)


def check_ways(solved):
    """All orders, segments and rounds in one launch of each size; none of nested dissection twice."""
    ways = [(r["n"], r["method"], r["segments"], r["together"]) for r in solved if not r["atomic"]]
    assert [(r["n"], r["method"], r["together"]) for r in solved if r["atomic"]] == [(33, "nested-dissection", 0)]
    nested = [w for w in ways if w[1] == "nested-dissection"]
    assert len(set(nested)) == len(nested), ways
    large = {w[1:] for w in ways if w[0] == 33}
    assert {t for m, _, t in large if m == "nested-dissection"} == {0, 2, 4}, large
    assert {s for m, s, _ in large if m == "partition"} == {4, 5}, large  # no more fit into nine blocks
    assert {m for n, m, _, _ in ways if n == 3} == {"nested-dissection", "partition", "recursive-schur"}, ways
    for r in solved:
        assert r["residual"] < 1e-15 and r["cpu_difference"] < 1e-14 and 0 <= r["together"] <= r["rounds"], r
        assert all(0 < r[what + "_min_ms"] <= r[what + "_ms"] for what in ("factor", "solve", "factor_solve")), r


def check_failures(folder, out):
    write(os.path.join(folder, "test_gpu_scans"),
          'case "$*" in --list) echo one; echo two ;; two) echo fine ;; *) echo wrong; exit 1 ;; esac')
    write(os.path.join(folder, "test_gpu_chunks"), "exit 77")
    write(os.path.join(folder, "test_gpu_resident"), "kill -SEGV $$")
    write(os.path.join(folder, "bench_gpu_cub"), "exit 124")
    code, said, summary, _ = verify(folder, out, "scans", "chunks", "resident", "device", "edges", "cub")
    found = {s["section"]: s["result"] for s in summary}
    assert code == 1 and found == {"scans": "failed", "device": "passed", "chunks": "skipped",
                                   "resident": "failed", "edges": "failed", "cub": "out of time"}, found
    assert "wrong" in said
    assert said.splitlines()[-4:] == ["passed: 1", "failed: scans resident edges", "out of time: cub", "skipped: chunks"]
    # Each test of a program that failed had a process of its own.
    assert "  alone: one failed, or was out of time\n  alone: two passed\n" in said, said
    # All of it is in one file, in the order in which it came; what is measured is a line of JSON elsewhere.
    with open(os.path.join(out, "log.txt"), encoding="utf-8", errors="replace") as file:
        log = file.read()
    assert log.index("==== scans: ") < log.index("wrong") < log.index("==== resident: "), log
    assert sorted(os.listdir(out)) == ["log.txt", "results.json", "summary.json", "table.txt"], os.listdir(out)


def check_hangs(folder, out):
    """What hangs is killed when its time is over, and the rest goes on; a group is its sections."""
    write(os.path.join(folder, "test_gpu_device"), "trap '' TERM; echo begun; while :; do sleep 1; done")
    write(os.path.join(folder, "test_gpu_scans"), "exit 0")
    os.environ["VERIFY_SECONDS"] = "2"
    code, said, summary, _ = verify(folder, out, "device", "scans")
    del os.environ["VERIFY_SECONDS"]
    assert code == 1 and [s["result"] for s in summary] == ["out of time"] * 2 and "begun" in said, (said, summary)
    assert "no time was left" in said, said
    write(os.path.join(folder, "test_gpu_device"), "exit 0")
    for group, first, last in (("tests", "machine", "command"), ("speed", "smooth-speed", "jax"),
                               ("sanitizers", "device-memcheck", "blocktri-refine-initcheck")):
        os.environ["VERIFY_SECONDS"] = "0"
        _, _, summary, _ = verify(folder, out, group)
        del os.environ["VERIFY_SECONDS"]
        assert [summary[0]["section"], summary[-1]["section"]] == [first, last], summary


def check_no_device(folder, out):
    """One line, and exit 5, where there is none."""
    write(os.path.join(folder, "bench_gpu_machine"), "echo no device; exit 77")
    done = subprocess.run([os.path.join(here, "verify"), folder, out], capture_output=True, text=True, timeout=60)
    assert done.returncode == 5 and done.stdout.count("\n") == 1 and "no device" in done.stdout, done
    assert not done.stderr, done.stderr


def check_command():
    """The command on the emulated device beside the CPU; what is wrong is told, and stops nothing."""
    script = os.path.join(here, "try_command.py")
    def tried(program):
        return subprocess.run([sys.executable, "-B", script, program, "", "60"], capture_output=True, text=True,
                              timeout=120)
    done = tried(os.path.join(built, "kalscan_emulated"))
    assert done.returncode == 0 and done.stdout.count(": well,") == done.stdout.count("\n") > 10, done
    with tempfile.TemporaryDirectory() as folder:
        other = os.path.join(folder, "kalscan")
        write(other, 'case "$*" in smooth*cuda*) echo bad >&2; exit 1 ;; esac; exec %s "$@"' % os.path.join(
            built, "kalscan_emulated"))
        done = tried(other)
    assert done.returncode == 1 and "cuda: exit 1: bad" in done.stdout, done
    assert "solve  small_blocks : well" in done.stdout, done


def check_peers(out):
    """JAX's lines beside ours: the ratio is in the table."""
    line = {"job": "filter", "method": "scan", "scan": "chunked", "precision": "f32", "T": 1000, "nx": 4,
            "where": "device", "median_ns": 2000, "of_floor": 1.5}
    peer = dict(line, method="jax-associative-scan", scan="none", median_ns=50000)
    path = os.path.join(out, "results.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n" + json.dumps(peer) + "\n")
    rows = subprocess.run([os.path.join(here, "table"), path], capture_output=True, text=True,
                          check=True).stdout.splitlines()
    assert rows[1].split() == ["filter", "scan", "chunked", "f32", "1000", "4", "device", "2.00", "1.5",
                               "25.0"], rows
    assert rows[2].split()[-2:] == ["1.5", "1.0"], rows


def check_budget():
    """Sections say how long they may take, and all of them together end in under ten minutes."""
    with open(os.path.join(here, "verify"), encoding="utf-8") as file:
        text = file.read()
    deadline = int(re.search(r"VERIFY_SECONDS:-(\d+)", text)[1])
    limits = [int(n) for n in re.findall(r"^ *(?:section|program|checked \S+) [\w-]+ (\d+) ", text, re.M)]
    assert len(limits) > 20 and max(limits) <= 90 and deadline + 5 + 20 < 600, (deadline, limits)
    # No test is left out for another that takes all of its time.
    tests = text[text.index("group=tests"):text.index("group=speed")]
    assert sum(int(n) for n in re.findall(r"^(?:section|program) [\w-]+ (\d+) ", tests, re.M)) <= deadline, tests


def check_named_tests():
    """Sections that name a test of a program name one that it has: cmocka runs none of another, and passes."""
    with open(os.path.join(here, "verify"), encoding="utf-8") as file:
        text = file.read()
    program_of = dict(re.findall(r'^(\w+)=\$\(find_program test_gpu_(\w+)\)', text, re.M))
    named = re.findall(r'^ *checked \S+ [\w-]+ \d+ "\$(\w+)" "?([\w*]+)"?$', text, re.M)
    assert len(named) >= 10, named
    for program, pattern in named:
        with open(os.path.join(here, "test_" + program_of[program] + ".c"), encoding="utf-8") as file:
            source = file.read()
        tests = fnmatch.filter(re.findall(r"cmocka_unit_test\((\w+)\)", source), pattern)
        assert tests and "only_tests(argc, argv, tests)" in source, (program, pattern)


with tempfile.TemporaryDirectory() as top:
    programs, results_folder = os.path.join(top, "programs"), os.path.join(top, "out")
    os.mkdir(programs)
    emulated(programs)
    check_benchmarks(programs, results_folder)
    check_smooth()
    check_failures(programs, results_folder)
    check_hangs(programs, results_folder)
    check_no_device(programs, results_folder)
    check_command()
    check_peers(results_folder)
    check_budget()
    check_named_tests()
