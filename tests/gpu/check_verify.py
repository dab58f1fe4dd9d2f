"""`verify` itself, with programs of the emulated device in the place of a real one's: what fails does not
hide the rest, what has no time left says so, and what benchmarks print is JSON and becomes a table.

`date` and `timeout` are others here: time passes when a program says so, not while a busy machine does
something else.

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
    "bench_gpu_blocktri": ("emulated_bench_blocktri", "1e9", "9", "33", "6", "3"),
    "test_gpu_device": ("test_gpu_emulated_device",),
}


DATE = 'cat "$KALSCAN_CLOCK"'
# A program may run until the clock says that its time is over. As the real one's, its group is asked to end, and then
# is ended.
TIMEOUT = """#!%s -B
import os, signal, subprocess, sys, time
assert sys.argv[1] == "-k", sys.argv
def now():
    with open(os.environ["KALSCAN_CLOCK"], encoding="utf-8") as clock:
        return int(clock.read() or 0)
ending, limit, begun = int(sys.argv[2]), int(sys.argv[3]), now()
try:
    program = subprocess.Popen(sys.argv[4:], start_new_session=True)
except OSError:
    sys.exit(127)
while program.poll() is None and now() - begun < limit:
    time.sleep(0.01)
if program.poll() is None:
    os.killpg(program.pid, signal.SIGTERM)
    while program.poll() is None and now() - begun < limit + ending:
        time.sleep(0.01)
    if program.poll() is None:
        os.killpg(program.pid, signal.SIGKILL)
        program.wait()
        sys.exit(128 + signal.SIGKILL)
    sys.exit(124)
sys.exit(program.returncode if program.returncode >= 0 else 128 - program.returncode)
"""


def own_time(folder):
    """`date` and `timeout` before the machine's, and a clock that stands still."""
    write(os.path.join(folder, "date"), DATE)
    path = os.path.join(folder, "timeout")
    with open(path, "w", encoding="utf-8") as file:
        file.write(TIMEOUT % sys.executable)
    os.chmod(path, 0o755)
    os.environ["PATH"] = folder + os.pathsep + os.environ["PATH"]
    os.environ["KALSCAN_CLOCK"] = os.path.join(folder, "clock")
    set_clock(0)


def set_clock(seconds):
    with open(os.environ["KALSCAN_CLOCK"], "w", encoding="utf-8") as file:
        file.write(str(seconds))


def verify(folder, out, *sections):
    """Exit status, what was said, summary and results."""
    set_clock(0)
    done = subprocess.run([os.path.join(here, "verify"), folder, out, *sections], capture_output=True, text=True)
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
    rows = [line for line in said.split("\naim ")[0].splitlines() if line.startswith(("smooth ", "filter "))]
    left_out = [r for r in results if "left_out" in r]
    assert len(rows) == len(timed) + len(left_out) and left_out, said
    assert sum("left out, time: " in row for row in rows) == len(left_out), said
    assert "node of a graph: " in said


def methods_of_series():
    """Job, method, scan and precision of what is timed of filters and smoothers."""
    scans = ["ladner-fischer", "blelloch", "sengupta", "hillis-steele"]
    return ([("filter", "scan", s, p) for s in scans for p in ("f64", "f32")] +
            [("smooth", m, scans[0], p) for m in ("scan-rts", "scan-two-filter") for p in ("f64", "f32")] +
            [(job, method, "chunked", p) for p in ("f64", "f32", "mixed")
             for job, method in (("filter", "scan"), ("smooth", "scan-rts"))] +
            [("smooth", "scan-two-filter", "chunked", p) for p in ("f64", "f32")])


def check_cells(results, states, steps):
    """Each method has one line for the device's own work on each size, and one for the whole call: what was measured,
    or why it was not."""
    methods = methods_of_series()
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
                              text=True)
        assert done.returncode == 0, (arguments, done)
        return [json.loads(line) for line in done.stdout.splitlines()]
    results = bench("1000", "24", "2", "16")
    check_cells(results, (2, 4, 6, 8, 16), 24)
    assert not any("left_out" in r or "status" in r for r in results), results
    assert {r["where"] for r in results if "where" in r} - {"one-copier"} == {
        "device", "end-to-end", "dev-loads", "dev-teams", "dev-bulk", "dev-bulk-1", "dev-together", "dev-rounds"}
    results = bench("0", "1e7", "16", "32")
    reasons = {(r["T"], r["left_out"].split(":")[0]) for r in results if r.get("nx") == 32 and "left_out" in r}
    assert {(1000, "time"), (1000000, "memory of the device"), (10000000, "memory of the device")} <= reasons, reasons
    for steps in (1000, 10000, 100000, 1000000):
        check_cells(results, (16, 32), steps)


def check_ways(solved):
    """All orders, segments and rounds in one launch of each size; none of nested dissection twice."""
    ways = [(r["n"], r["method"], r["segments"], r["together"]) for r in solved
            if not r["atomic"] and r["precision"] == "f64"]
    assert [(r["n"], r["method"], r["together"]) for r in solved if r["atomic"]] == [(33, "nested-dissection", 0)]
    nested = [w for w in ways if w[1] == "nested-dissection"]
    assert len(set(nested)) == len(nested), ways
    large = {w[1:] for w in ways if w[0] == 33}
    assert {t for m, _, t in large if m == "nested-dissection"} == {0, 2, 4}, large
    assert {s for m, s, _ in large if m == "partition"} == {4, 5}, large  # no more fit into nine blocks
    assert {m for n, m, _, _ in ways if n == 3} == {"nested-dissection", "partition", "recursive-schur"}, ways
    for r in solved:
        unit = 1e-15 if r["precision"] == "f64" else 1e-6
        assert r["residual"] < unit and r["cpu_difference"] < 10 * unit and 0 <= r["together"] <= r["rounds"], r
        assert all(0 < r[what + "_min_ms"] <= r[what + "_ms"] and r[what + "_of_floor"] > 0
                   for what in ("factor", "solve", "factor_solve")), r
    # Each size in either precision, as plans take it by themselves, also as a whole call.
    chosen = [r for r in solved if "end_to_end_ms" in r]
    assert [(r["n"], r["precision"]) for r in chosen] == [(33, "f64"), (33, "f32"), (3, "f64"), (3, "f32")], chosen
    assert all(r["end_to_end_min_ms"] > 0 and r["method"] == "nested-dissection" and not r["atomic"] for r in chosen)


def check_failures(folder, out):
    write(os.path.join(folder, "test_gpu_scans"),
          'case "$*" in --list) echo one; echo two ;; two) echo fine ;; *) echo wrong; exit 1 ;; esac')
    write(os.path.join(folder, "test_gpu_chunks"), "exit 77")
    write(os.path.join(folder, "test_gpu_resident"), "kill -SEGV $$")
    write(os.path.join(folder, "test_gpu_smooth"), "kill -KILL $$")  # as a machine without memory does
    write(os.path.join(folder, "bench_gpu_cub"), "exit 124")
    code, said, summary, _ = verify(folder, out, "scans", "chunks", "resident", "device", "edges", "cub", "smooth")
    found = {s["section"]: s["result"] for s in summary}
    assert code == 1 and found == {"scans": "failed", "device": "passed", "chunks": "skipped", "resident": "failed",
                                   "edges": "failed", "smooth": "failed", "cub": "out of time"}, found
    assert "wrong" in said
    assert said.splitlines()[-4:] == ["passed: 1", "failed: scans smooth resident edges", "out of time: cub", "skipped: chunks"]
    # Each test of a program that failed had a process of its own, when all sections had been tried.
    assert said.index("scans alone: one failed\nscans alone: two passed\n") > said.index("cub "), said
    # All of it is in one file, in the order in which it came; what is measured is a line of JSON elsewhere.
    with open(os.path.join(out, "log.txt"), encoding="utf-8", errors="replace") as file:
        log = file.read()
    assert log.index("==== scans: ") < log.index("wrong") < log.index("==== resident: "), log
    assert sorted(os.listdir(out)) == ["log.txt", "results.json", "summary.json", "table.txt"], os.listdir(out)


def check_hangs(folder, out):
    """What hangs is killed when its time is over, and the rest goes on; a group is its sections."""
    hangs = "%s echo begun; echo %d >$KALSCAN_CLOCK; while :; do sleep 0.1; done"
    # One that ends when it is asked to, and one that does not, each when the other has had its time.
    for trap, until, seconds in (("", 2, 2), ("trap '' TERM;", 7, 2)):
        write(os.path.join(folder, "test_gpu_device"), hangs % (trap, until))
        write(os.path.join(folder, "test_gpu_scans"), "exit 0")
        check_hanging(folder, out, seconds, 137 if trap else 124)
    write(os.path.join(folder, "test_gpu_device"), "exit 0")
    for group, first, last in (("tests", "machine", "command"), ("speed", "smooth-speed", "jax"),
                               ("sanitizers", "device-memcheck", "blocktri-refine-initcheck")):
        os.environ["VERIFY_SECONDS"] = "0"
        _, _, summary, _ = verify(folder, out, group)
        del os.environ["VERIFY_SECONDS"]
        assert [summary[0]["section"], summary[-1]["section"]] == [first, last], summary


def check_hanging_tests(folder, out):
    """A program all of whose tests hang keeps no other section from its turn, and is given up after two of them."""
    write(os.path.join(folder, "test_gpu_scans"),
          'case "$*" in --list) echo one; echo two; echo three; exit ;; esac\n'
          'echo $(($(cat "$KALSCAN_CLOCK") + 21)) >"$KALSCAN_CLOCK"; while :; do sleep 0.1; done')
    write(os.path.join(folder, "test_gpu_device"), "exit 0")
    write(os.path.join(folder, "test_gpu_chunks"), "exit 0")
    os.environ["VERIFY_SECONDS"] = "75"
    _, said, summary, _ = verify(folder, out, "device", "scans", "chunks")
    del os.environ["VERIFY_SECONDS"]
    assert [s["result"] for s in summary] == ["passed", "out of time", "passed"], summary
    assert "scans alone: one out of time\nscans alone: two out of time\nscans alone: three not tried\n" in said, said


def check_hanging(folder, out, seconds, status):
    os.environ["VERIFY_SECONDS"] = str(seconds)
    code, said, summary, _ = verify(folder, out, "device", "scans")
    del os.environ["VERIFY_SECONDS"]
    assert code == 1 and [s["result"] for s in summary] == ["out of time"] * 2 and "begun" in said, (said, summary)
    assert "no time was left" in said and summary[0]["status"] == status, (said, summary)


def check_no_device(folder, out):
    """One line, and exit 5, where there is none."""
    for says in ("", "echo 'CUDA error 802: cuInit' >&2; "):
        write(os.path.join(folder, "bench_gpu_machine"), says + "echo no device; exit 77")
        done = subprocess.run([os.path.join(here, "verify"), folder, out], capture_output=True, text=True)
        assert done.returncode == 5 and "no device" in done.stdout.splitlines()[0], done
        assert done.stdout.splitlines()[1:] == (["CUDA error 802: cuInit"] if says else []), done
        assert not done.stderr, done.stderr


def check_command():
    """The command on the emulated device beside the CPU; what is wrong is told, and stops nothing."""
    script = os.path.join(here, "try_command.py")
    def tried(program):
        return subprocess.run([sys.executable, "-B", script, program, "", "60"], capture_output=True, text=True)
    done = tried(os.path.join(built, "kalscan_emulated"))
    assert done.returncode == 0 and done.stdout.count(": well,") == done.stdout.count("\n") > 10, done
    with tempfile.TemporaryDirectory() as folder:
        other = os.path.join(folder, "kalscan")
        write(other, 'case "$*" in smooth*cuda*) echo bad >&2; exit 1 ;; esac; exec %s "$@"' % os.path.join(
            built, "kalscan_emulated"))
        done = tried(other)
    assert done.returncode == 1 and "cuda: exit 1: bad" in done.stdout, done
    assert "solve  small_blocks : well" in done.stdout, done


def check_programs():
    """What `verify` runs is carried along."""
    def text_of(name):
        with open(os.path.join(here, name), encoding="utf-8") as file:
            return file.read()
    carried = {os.path.basename(line) for line in text_of("programs").split()} | {
        name for line in re.findall(r"for script in (.*?);", text_of("stage")) for name in line.split()}
    wanted = set(re.findall(r"find_program ([a-z_0-9.]+)\)", text_of("verify")))
    assert len(wanted) > 30 and wanted <= carried, wanted - carried


NCU = """case "$*" in
*--import*) cat <<'X'
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value","Rule Name"
"0","1","p","h","ks_one","1","7","(32, 1, 1)","(4,096, 1, 1)","0","9.0","A","Duration","ms","1.5",""
"0","1","p","h","ks_one","1","7","(32, 1, 1)","(4,096, 1, 1)","0","9.0","A","Executed Instructions","inst","1,234",""
"1","1","p","h","ks_two","1","7","(64, 2, 1)","(8, 1, 1)","0","9.0","A","Duration","us","2.5",""
X
;;
*) while [ "$1" != env ]; do shift; done; exec "$@" ;;
esac"""


def check_profile(folder):
    """A case that fails is told, the others are not hidden, and what the profiler says becomes a table."""
    write(os.path.join(folder, "ncu"), NCU)
    write(os.path.join(folder, "one_run"), 'case "$*" in filter*) exit 1 ;; esac; exec %s "$@"' % os.path.join(
        built, "emulated_one_run"))
    out = os.path.join(folder, "profiles")
    done = subprocess.run([os.path.join(here, "profile"), folder, out, "filter scan chunked f64 20 1 1",
                           "smooth scan-rts chunked f32 50 2 1"], capture_output=True, text=True,
                          env={**os.environ, "PATH": folder + os.pathsep + os.environ["PATH"]})
    assert done.returncode == 1, done
    with open(os.path.join(out, "profile.txt"), encoding="utf-8") as file:
        rows = [row.split() for row in file.read().splitlines()]
    assert rows[0] == "== filter scan chunked f64 20 1 1".split() and len(rows) == 10, rows
    assert rows[7] == ["ks_one", "4", "32", "1500", "1234"] and rows[8] == ["ks_two", "8", "64", "2.5"], rows
    with open(os.path.join(out, "smooth-scan-rts-chunked-f32-50-2-1.txt"), encoding="utf-8") as file:
        assert file.read() == "smooth scan-rts chunked f32 T = 50 (2, 1): run\n"


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
    check_aims(path, line, peer)


def check_aims(path, line, peer):
    """What is aimed at, beside what a plan takes by itself, the best of other ways, the whole call, and peers."""
    system = {"job": "solve", "method": "nested-dissection", "precision": "f64", "N": 8192, "n": 32, "segments": 0,
              "together": 0, "atomic": 0, "factor_ms": 0.5, "factor_of_floor": 4, "solve_ms": 0.25, "solve_of_floor": 3,
              "factor_solve_ms": 0.6, "factor_solve_of_floor": 2, "end_to_end_ms": 30}
    ways = [dict(system, together=4, factor_ms=0.4), dict(system, method="partition", segments=10, factor_ms=0.75)]
    for way in ways:
        del way["end_to_end_ms"]
    lines = [system, *ways, dict(system, method="cudss", factor_ms=4.5), line, peer,
             dict(line, where="dev-bulk", median_ns=1500), dict(line, where="dev-pieces", median_ns=1750),
             dict(line, where="end-to-end", median_ns=90000), dict(line, job="scan", method="cub-device-scan",
                                                                   median_ns=7000),
             {"bench": "hbisa", "method": "red-black", "N": 20, "n": 16, "us_per_iteration": 2.25}]
    del lines[3]["end_to_end_ms"]
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(json.dumps(each) + "\n" for each in lines))
    targets = path + ".targets"
    with open(targets, "w", encoding="utf-8") as file:
        file.write("# aims\nfilter scan chunked f32 1000 4 device 8\nsolve f64 8192 32 factor 250\n"
                   "solve f64 4096 64 solve 280\nhbisa red-black 20 16 1.5\n")
    said = subprocess.run([os.path.join(here, "table"), path, targets], capture_output=True, text=True,
                          check=True).stdout.splitlines()
    os.remove(targets)
    at = next(i for i, row in enumerate(said) if row.startswith("aim "))
    assert [row.split() for row in said[at + 1:]] == [
        "filter scan chunked f32 1000 4 device 8 2.00 0.25 1.5 dev-bulk 1.50 end to end 90.0 JAX 50.0 us, CUB 7.0 us".split(),
        "solve f64 8192 32 factor 250 500.00 2.00 4 nested-dissection-together-4 400.00 end to end 30000.0 cuDSS 4500.0 us"
        .split(), "solve f64 4096 64 solve 280 -".split(), "hbisa red-black 20 16 1.5 2.25 1.50 -".split()], said
    assert any(row.split()[:2] == ["solve", "partition-10"] for row in said[:at]), said


def check_targets():
    """Each line of what is aimed at is a case of a benchmark."""
    def text_of(name):
        with open(os.path.join(here, name), encoding="utf-8") as file:
            return file.read()
    def table_of(name, what):
        body = re.search(what + r"\[?\]?.*?= \{(.*?)\n? *\};", text_of(name), re.S)[1]
        return {(int(a), int(b)) for a, b in re.findall(r"\{ (\d+), (\d+) \}", body)}
    blocks, iterated = table_of("bench_system.h", "bench_sizes"), table_of("bench_hbisa.c", "sizes")
    cells = {(job, method, scan, p) for job, method, scan, p in methods_of_series()}
    seen = set()
    for row in text_of("targets").splitlines():
        if row.startswith("#"):
            continue
        *key, aim = row.split()
        assert float(aim) > 0 and tuple(key) not in seen, row
        seen.add(tuple(key))
        if key[0] == "solve":
            assert key[1] in ("f64", "f32") and key[4] in ("factor", "solve", "factor_solve"), row
            assert (int(key[2]), int(key[3])) in blocks and (key[1] == "f64" or int(key[3]) <= 16), row
        elif key[0] == "hbisa":
            assert key[1] in ("block-jacobi", "red-black") and (int(key[2]), int(key[3])) in iterated, row
        else:
            job, method, scan, precision, steps, states, where = key
            assert (job, method, scan, precision) in cells, row
            assert int(steps) in (1000, 10000, 100000, 1000000) and int(states) in (2, 4, 6, 8, 16, 32), row
            assert where == "device" or (where == "lti-device" and steps == "1000000" and int(states) in (2, 4, 6)), row
    assert len(seen) > 70 and {n for _, n in blocks} >= {32, 64, 128, 256, 512, 1024}, seen


def check_budget():
    """Sections say how long they may take, and all of them together end in under ten minutes."""
    with open(os.path.join(here, "verify"), encoding="utf-8") as file:
        text = file.read()
    deadline = int(re.search(r"VERIFY_SECONDS:-(\d+)", text)[1])
    limits = [int(n) for n in re.findall(r"^ *(?:section|program|checked \S+) [\w-]+ (\d+) ", text, re.M)]
    assert len(limits) > 20 and max(limits) <= 90 and deadline + 5 + 20 < 600, (deadline, limits)
    # No test or benchmark is left out for another of its group that takes all of its time.
    for group, behind in (("tests", "speed"), ("speed", "sanitizers")):
        sections = text[text.index("group=" + group):text.index("group=" + behind)]
        limits = [int(n) for n in re.findall(r"^(?:section|program) [\w-]+ (\d+) ", sections, re.M)]
        assert limits and sum(limits) <= deadline, (group, sum(limits))


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
    clock = os.path.join(top, "clock")
    os.mkdir(clock)
    own_time(clock)
    emulated(programs)
    check_benchmarks(programs, results_folder)
    check_smooth()
    check_failures(programs, results_folder)
    check_hangs(programs, results_folder)
    check_hanging_tests(programs, results_folder)
    check_no_device(programs, results_folder)
    check_command()
    check_peers(results_folder)
    check_targets()
    check_programs()
    check_profile(results_folder)
    check_budget()
    check_named_tests()
