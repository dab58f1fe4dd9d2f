"""The list that `kalscan bench --json` prints: its members, that they fit each other, and that every
combination of what was asked for is there. No time is judged. usage: check_bench.py KALSCAN"""
import csv
import json
import math
import subprocess
import sys

COMMON = {"job", "method", "scan", "backend", "precision", "threads", "repeats", "median_ns", "min_ns",
          "max_ns"}


def bench(*arguments, repeats=3):
    done = subprocess.run([sys.argv[1], "bench", *arguments, "--json", "--repeats", str(repeats)],
                          check=True, capture_output=True, text=True)
    items = json.loads(done.stdout)
    for item in items:
        assert COMMON <= item.keys(), item.keys()
        assert item["repeats"] == repeats and item["backend"] == "cpu"
        assert 0 < item["min_ns"] <= item["median_ns"] <= item["max_ns"]
    return items


def near(a, b):
    return math.isclose(a, b, rel_tol=1e-12)


def models():
    for job, methods in (("smooth", ["sequential", "scan-rts"]), ("filter", ["sequential", "scan"])):
        items = bench(job, "--T", "60", "--nx", "3", "--ny", "2", "--method", ",".join(methods),
                      "--scan", "chunked,ladner-fischer", "--precision", "f64,f32", "--threads", "1,2",
                      "--varying", "--missing", "0.1")
        found = [(i["method"], i["scan"], i["precision"]) for i in items]
        expected = [(m, s, p) for p in ("f64", "f32") for m, s in
                    [(methods[0], "none"), (methods[1], "chunked"), (methods[1], "ladner-fischer")]]
        assert found == 2 * expected, found
        for item in items:
            assert (item["T"], item["nx"], item["ny"], item["B"]) == (60, 3, 2, 1)
            assert near(item["ns_per_step"], item["median_ns"] / 60)
            assert near(item["gflops"], item["flops_per_step"] * 60 / item["median_ns"])
            number = 8 if item["precision"] == "f64" else 4
            # y, F, Q, H, R in, mean and covariance out
            assert near(item["bytes_per_step"], number * (2 + 9 + 9 + 6 + 4 + 3 + 9))
        assert len({item["flops_per_step"] for item in items}) == 1


def mixed():
    """Model, data and means in double, covariances in single precision."""
    item = bench("smooth", "--T", "60", "--nx", "3", "--ny", "2", "--precision", "mixed", "--varying")[0]
    assert item["precision"] == "mixed" and item["method"] == "sequential"
    assert near(item["bytes_per_step"], 8 * (2 + 9 + 9 + 6 + 4 + 3) + 4 * 9)


def batch():
    one, many = (bench("filter", "--T", "50", "--batch", b)[0] for b in ("1", "5"))
    assert many["B"] == 5 and near(many["flops_per_step"], one["flops_per_step"])
    assert near(many["ns_per_step"], many["median_ns"] / 250)
    constant = bench("filter", "--T", "50")[0]
    fresh = bench("filter", "--T", "50", "--fresh")[0]
    assert near(fresh["bytes_per_step"] - constant["bytes_per_step"], 8 * 16)
    assert [i["model"] for i in (constant, fresh)] == ["constant", "fresh"]
    arma = [bench("smooth", "--T", "50", "--arma", *more)[0]
            for more in ((), ("--nx", "1", "--precision", "f32"), ("--fresh", "--missing", "0.1"))]
    assert [(i["model"], i["nx"], i["ny"]) for i in arma] == [("arma", 4, 1), ("arma", 1, 1), ("arma-fresh", 4, 1)]
    assert [i["ordinary_steps"] for i in arma] == [0, 0, 0] and "gflops" not in arma[0]
    own = bench("filter", "--T", "50", "--batch", "5", "--own", "--varying")[0]
    assert (own["own_models"], many["own_models"], own["model"]) == (True, False, "varying")
    # F, Q, H and R of each series
    assert near(own["bytes_per_step"] - constant["bytes_per_step"], 8 * (16 + 16 + 8 + 4))


def solve():
    orders = ["sequential", "twisted", "partition", "nested-dissection", "recursive-schur"]
    items = bench("solve", "--n", "5", "--N", "30", "--nrhs", "2", "--method", ",".join(orders),
                  "--precision", "f64,f32,mixed", "--machine")
    machine = [i for i in items if i["job"] == "machine"]
    assert [i["method"] for i in machine] == 3 * ["gemm", "triad"]
    items = [i for i in items if i["job"] == "solve"]
    assert [(i["precision"], i["method"]) for i in items] == [
        (p, o) for p in ("f64", "f32", "mixed") for o in orders]
    for number, item in enumerate(items):
        assert (item["N"], item["n"], item["nrhs"]) == (30, 5, 2)
        factor, back = item["factor"], item["solve"]
        assert near(item["factor_ms"], factor["median_ns"] * 1e-6)
        assert near(item["solve_ms"], back["median_ns"] * 1e-6)
        assert item["max_ns"] >= factor["min_ns"] + back["min_ns"]
        assert near(factor["flops"], 30 * 125 / 3 + 29 * 2 * 125)
        assert near(back["flops"], 2 * (2 * 30 + 4 * 29) * 25)
        blocks = 30 * 15 + 29 * 25
        bytes_of = {"f64": (8, 8), "f32": (4, 4), "mixed": (8, 4)}[item["precision"]]
        assert near(factor["bytes"], blocks * sum(bytes_of))
        assert near(back["bytes"], 2 * blocks * bytes_of[1] + 2 * 30 * 5 * 2 * bytes_of[0])
        gemm, triad = machine[number // 5 * 2], machine[number // 5 * 2 + 1]
        assert near(factor["fraction_of_dgemm"], factor["gflops"] / gemm["gflops"])
        assert near(back["fraction_of_triad"], back["gbytes_per_s"] / triad["gbytes_per_s"])
        assert item["backward_error"] < (1e-6 if item["precision"] == "f32" else 1e-15)
        assert item["backward_error"] < item["relative_residual"] < 1e3 * item["backward_error"]


GENERAL = ["block-jacobi", "block-gauss-seidel", "red-black", "bicgstab", "gmres", "cg", "block-lu",
           "low-rank-lu", "block-cyclic-reduction", "banded-lu"]


def general():
    """Methods for general systems on the symmetric random system, and but for CG on the queue's."""
    for system, n, methods in (("random", "4", GENERAL), ("queue", "5", [m for m in GENERAL if m != "cg"])):
        items = bench("solve", "--system", system, "--n", n, "--N", "12", "--nrhs", "2", "--tol", "1e-8",
                      "--threads", "1,2", "--method", ",".join(methods), "--machine")
        triads = [i["gbytes_per_s"] for i in items if i["method"] == "triad"]
        items = [i for i in items if i["job"] == "solve"]
        assert [i["method"] for i in items] == 2 * methods
        for number, item in enumerate(items):
            assert (item["N"], item["n"], item["nrhs"], item["system"]) == (12, int(n), 2, system)
            assert item["tolerance"] == 1e-8 and item["relative_residual"] <= 1e-8
            assert "flops" not in item["factor"] and item["solve"]["bytes"] > 0
            direct = item["method"].endswith(("-lu", "cyclic-reduction"))
            assert (item["iterations"] == 0) == direct
            if direct:
                continue
            moved = item["iteration_bytes"]
            assert near(item["ns_per_iteration"], item["solve_ms"] * 1e6 / 2 / item["iterations"])
            assert near(item["solve"]["bytes"], 2 * item["iterations"] * moved)
            assert near(item["iteration_over_triad"],
                        item["ns_per_iteration"] * triads[number // len(methods)] / moved)
            if item["method"] == "block-jacobi" and system == "random":
                # D's factor with its pivots, L and U, dense; b, x in and out
                assert near(moved, 12 * (128 + 16) + 2 * 11 * 128 + 3 * 8 * 48), moved
    picked = bench("solve", "--system", "queue", "--n", "5", "--N", "12")[0]
    assert picked["method"] in GENERAL
    assert bench("solve", "--n", "4", "--N", "12")[0]["method"] == "sequential"


def everything():
    """--method all: what takes the job, the system and the precision, each once."""
    smoothers = ["sequential", "two-ended", "scan-rts", "scan-two-filter", "blocktri"]
    cholesky = ["sequential", "twisted", "partition", "nested-dissection", "recursive-schur"]
    system = ("--n", "5", "--N", "20")
    for arguments, expected in ((("smooth", "--T", "60", "--method", "all"), smoothers),
                                (("smooth", "--T", "60", "--method", "blocktri,all,auto"),
                                 ["blocktri", "sequential", *smoothers[:-1]]),
                                (("filter", "--T", "60", "--method", "all"), ["sequential", "scan"]),
                                (("smooth", "--T", "60", "--precision", "mixed", "--method", "all"), ["sequential"]),
                                (("solve", *system, "--method", "all"), cholesky),
                                (("solve", *system, "--system", "queue", "--method", "all"),
                                 [m for m in GENERAL if m != "cg"])):
        found = [item["method"] for item in bench(*arguments)]
        assert found == expected, (arguments, found)


def table():
    """--csv has the members of the JSON objects."""
    for job in (("smooth", "--T", "60", "--method", "all", "--scan", "sengupta:3", "--precision", "f64,f32", "--batch", "3"),
                ("filter", "--T", "60", "--missing", "0.25", "--varying", "--threads", "2"),
                ("solve", "--n", "5", "--N", "20", "--method", "all"),
                ("solve", "--n", "5", "--N", "20", "--system", "queue", "--method", "all")):
        items = bench(*job)
        done = subprocess.run([sys.argv[1], "bench", *job, "--csv", "--repeats", "3"], check=True, capture_output=True,
                              text=True)
        rows = list(csv.DictReader(done.stdout.splitlines()))
        assert len(rows) == len(items) > 0
        for row, item in zip(rows, items):
            # What has no value in an object has one that says so here.
            item = {"order": "none", "segments": 0, "iterations": 0, **item}
            assert row.keys() <= item.keys() and COMMON - {"scan"} <= row.keys(), row.keys() ^ item.keys()
            timed = {name for name in row if name.endswith(("_ns", "_ms")) or name == "ns_per_step"}
            for name in row.keys() - timed:
                assert row[name] == item[name] or near(float(row[name]), item[name]), (name, row, item)
            times = {name: float(row[name]) for name in timed}
            assert 0 < times["min_ns"] <= times["median_ns"] <= times["max_ns"]
            if "ns_per_step" in times:
                assert abs(times["ns_per_step"] * item["T"] * item["B"] / times["median_ns"] - 1) < 1e-8
            else:
                assert 0 < times["factor_ms"] * 1e6 < times["max_ns"] > times["solve_ms"] * 1e6 > 0


def defaults():
    item = bench("solve", "--n", "3", "--precision", "f32", repeats=1)[0]
    assert item["N"] == 87382
    assert bench("filter", "--nx", "20", "--ny", "1", repeats=1)[0]["T"] == 2**23 // 20**2
    assert bench("smooth", "--nx", "2", repeats=1)[0]["T"] == 100000


for check in (models, mixed, batch, solve, general, everything, table, defaults):
    check()
    print("ok", check.__name__)
