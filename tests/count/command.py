"""`kalscan count` as scripts use it: the fields of --json, the same numbers in --csv and in the
table, long series, figures.

Usage: command.py KALSCAN numbers|figures. Figures need gnuplot on the PATH; without it that part is
skipped."""

import csv
import io
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

KALSCAN = os.path.abspath(sys.argv[1])
FIELDS = {"method": str, "scan": str, "T": int, "threads": int, "work_flops": int,
          "time_flops": int, "span_steps": int, "combines": int}
SCANS = ["hillis-steele", "blelloch", "ladner-fischer", "sengupta:1", "sengupta:15000", "chunked"]
ORDERS = ["sequential", "twisted", "partition", "nested-dissection", "recursive-schur"]
PARTS = ["blocktri-factor", "blocktri-solve", "blocktri-inverse"]  # with orders
METHODS = ["filter", "scan-rts", "scan-two-filter"]


def run(*arguments, **options):
    return subprocess.run([KALSCAN, "count", *arguments], capture_output=True, text=True,
                          check=False, **options)


def good(*arguments):
    done = run(*arguments)
    assert done.returncode == 0 and done.stderr == "", (arguments, done)
    return done.stdout


def rows(*arguments):
    return json.loads(good(*arguments, "--json"))


def key(row):
    return row["method"], row["scan"], row["T"], row["threads"]


def check_fields():
    found = rows("--T", "1000,1e4", "--threads", "15000,3")
    assert [key(r) for r in found] == [(m, s, t, p) for m in METHODS for s in SCANS
                                       for p in (15000, 3) for t in (1000, 10000)], found
    for row in found:
        for name, kind in FIELDS.items():
            assert type(row[name]) is kind, (name, row)
        kinds = [row[k] for k in ("adds", "multiplies", "divisions", "square_roots")]
        assert sum(kinds) == row["work_flops"], row
        assert row["span_flops"] <= row["time_flops"] <= row["work_flops"], row
        assert row["nx"] == 4 and row["ny"] == 2 and row["devices"] == 1, row


def check_choices():
    only = rows("--T", "7", "--threads", "2", "--method", "scan-rts,filter", "--scan",
                "sengupta:3,chunked", "--nx", "1", "--ny", "5")
    assert [key(r)[:2] for r in only] == [("scan-rts", "sengupta:3"), ("scan-rts", "chunked"),
                                          ("filter", "sengupta:3"), ("filter", "chunked")], only
    everything = rows("--T", "7", "--threads", "2", "--method", "all")
    assert [r["scan"] for r in everything if r["method"].startswith("sequential")] == ["none"] * 2
    assert [r["order"] for r in everything if r["method"] == "blocktri"] == ORDERS
    one, two = (rows("--T", "1e5", "--threads", "15000", "--method", "scan-two-filter", *more)
                for more in ([], ["--two-devices"]))
    for a, b in zip(one, two):
        assert b["devices"] == 2 and b["time_flops"] < a["time_flops"], (a, b)
        # In chunks one device needs no element of a step.
        assert b["work_flops"] == a["work_flops"] or a["scan"] == "chunked" and b["work_flops"] > a["work_flops"], (a, b)
    plain, more = (rows("--T", "1000", "--threads", "8", "--scan", "blelloch", *option)
                   for option in ([], ["--loglik"]))
    for a, b in zip(plain, more):
        assert b["time_flops"] > a["time_flops"] and b["span_steps"] == a["span_steps"] + 1


def check_formats():
    arguments = ["--T", "100,1e6", "--threads", "64", "--method", "all," + ",".join(PARTS)]
    objects = rows(*arguments)
    lines = list(csv.DictReader(io.StringIO(good(*arguments, "--csv"))))
    assert [{k: str(v) for k, v in o.items()} for o in objects] == lines
    table = [line.split() for line in good(*arguments).splitlines()[1:]]
    shown = ["method", "T", "threads", "work_flops", "time_flops", "span_steps", "combines"]
    assert [[str(o[f]) for f in shown] for o in objects] == [line[:1] + line[2:8] for line in table]
    assert [o["scan"] if o["order"] == "none" else o["order"] for o in objects] == [
        line[1] for line in table]
    assert good(*arguments, "--quiet") == ""


def check_orders():
    found = rows("--T", "1000", "--threads", "1,4", "--method", ",".join(PARTS), "--nx", "8")
    assert [(r["method"], r["order"], r["threads"]) for r in found] == [
        (m, o, P) for m in PARTS for o in ORDERS for P in (1, 4)], found
    for row in found:
        assert row["scan"] == "none" and row["combines"] == 0, row
        assert row["span_flops"] <= row["time_flops"] <= row["work_flops"], row
        if row["threads"] == 1:
            assert row["time_flops"] == row["work_flops"], row
        # Lower powers of n, and fewer steps in turn, tell the count from the formula.
        ratio = row["time_flops"] / row["model_flops"] if row["model_flops"] else 0
        assert 0.95 < ratio < 1.3 if row["method"] == "blocktri-factor" else ratio == 0, row
    # The smoother is its parts, a second solution to probe it, and a review; in the sequential and the
    # twisted order it is one pass each way, in one lane or two that meet in between.
    whole, assembly = (rows("--T", "1000", "--threads", "4", "--method", m, "--nx", "8", "--ny", "3")
                       for m in ("blocktri", "blocktri-assemble"))
    assert [r["order"] for r in whole] == ORDERS and assembly[0]["order"] == "none", whole
    assert whole[0]["span_steps"] == 2 and whole[0]["time_flops"] == whole[0]["work_flops"]
    assert whole[1]["span_steps"] == 4
    assert abs(whole[1]["time_flops"] / whole[0]["time_flops"] - 0.5) < 0.01, whole[:2]
    for row in whole[2:]:
        own = [r for r in found if r["order"] == row["order"] and r["threads"] == 4]
        parts = {r["method"]: r["time_flops"] for r in own}
        solved = parts["blocktri-factor"] + 2 * parts["blocktri-solve"] + parts["blocktri-inverse"]
        rest = row["time_flops"] - solved - assembly[0]["time_flops"]
        assert 0 < rest < 2 * assembly[0]["time_flops"], (row, rest)
    # A segment for each thread unless a number of segments is given, here with the same result.
    some = ["--T", "1000", "--threads", "4", "--method", "blocktri-factor", "--order"]
    given = rows(*some, "partition,partition:4,partition:3,recursive-schur:5,recursive-schur:8:32,"
                 "recursive-schur")
    assert [r["order"] for r in given] == ["partition", "partition:4", "partition:3",
                                           "recursive-schur:5", "recursive-schur:8:32",
                                           "recursive-schur"]
    times = [r["time_flops"] for r in given]
    assert times[0] == times[1] < times[2] and times[3] != times[4] == times[5], times


def check_long():
    found = rows("--T", "1e9", "--threads", "15000", "--nx", "12", "--ny", "6")
    assert len(found) == len(METHODS) * len(SCANS)
    hillis_steele = found[0]
    T = 10**9
    assert hillis_steele["combines"] == sum(T - 2**i for i in range(30)), hillis_steele
    ladner_fischer = found[2]
    assert T < ladner_fischer["combines"] < 2 * T, ladner_fischer


def check_order():
    """Paper Sec. VI-B: which scans are fast on short and on long series."""
    times = {key(r)[:3]: r["time_flops"] for r in rows("--T", "1e3,1e4,1e5,1e6", "--threads",
                                                       "15000")}
    for method in METHODS:
        for T in (1000, 10000):
            short = {s: times[method, s, T] for s in SCANS}
            best = min(short.values())
            assert short["hillis-steele"] == short["sengupta:15000"] == best, short
        for T in (10**5, 10**6):
            others = [times[method, s, T] for s in SCANS[1:5]]
            assert times[method, "hillis-steele", T] > 2 * max(others), others
    for T in (10**3, 10**6):
        for scan in SCANS:
            assert (times["filter", scan, T] < times["scan-rts", scan, T]
                    < times["scan-two-filter", scan, T])


def check_figures(outer):
    folder = outer / "it's\nhere"   # gnuplot opens no name, so that none is too odd for it
    folder.mkdir()
    arguments = ["--T", "100,1e3,1e4", "--threads", "15000", "--method",
                 ",".join([*METHODS, "sequential-filter", "sequential"]), "--quiet"]
    for name, more in [("lines.svg", []), ("bars.png", ["--bars"]), ("it's.svg", ["--bars"])]:
        out = folder / name
        assert good(*arguments, "--plot", str(out), *more) == ""
        head = out.read_bytes()[:200]
        assert head.startswith(b"\x89PNG") if name.endswith("png") else b"<svg" in head, head
        refused = run(*arguments, "--plot", str(out), *more)
        assert refused.returncode == 2 and "--force" in refused.stderr, refused
        assert good(*arguments, "--plot", str(out), "--force", *more) == ""
    orders = ["--T", "100,1e3", "--threads", "16", "--method", "blocktri-factor,blocktri-solve"]
    assert good(*orders, "--quiet", "--plot", str(folder / "orders.svg"), "--bars") == ""
    both = [*orders[:-1], "filter," + orders[-1], "--scan", "blelloch"]
    assert good(*both, "--quiet", "--plot", str(folder / "both.svg")) == ""
    drawn = (folder / "both.svg").read_text()
    for name in ["filter", "blelloch", *PARTS[:2], *ORDERS]:
        assert f">{name}<" in drawn, name
    assert sorted(p.name for p in folder.iterdir()) == ["bars.png", "both.svg", "it's.svg",
                                                        "lines.svg", "orders.svg"]
    missing = run(*arguments, "--plot", str(folder / "none" / "x.svg"))
    assert missing.returncode == 4, missing
    check_full_disk(folder, arguments)


def check_full_disk(folder, arguments):
    """gnuplot ends well where its files may not grow: no figure cut off, and the older one stays."""
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    for name in ("bars.png", "lines.svg"):
        older = (folder / name).read_bytes()
        cut = run(*arguments, "--plot", str(folder / name), "--force", preexec_fn=lambda:
                  resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limit[1])))
        assert cut.returncode == 4 and f"{name}: cannot write the figure" in cut.stderr, cut
        assert (folder / name).read_bytes() == older and not list(folder.glob(".*")), name


def check_without_gnuplot(folder):
    out = folder / "without.svg"
    done = run("--T", "10", "--threads", "2", "--plot", str(out),
               env={**os.environ, "PATH": str(folder)})
    assert done.returncode == 5 and "gnuplot" in done.stderr and done.stdout == "", done
    assert not out.exists() and not list(folder.glob(".*")), list(folder.iterdir())


def check_calibrate():
    # Of one state: that numbers come out does not depend on how many there are, and it is soon done.
    found = rows("--calibrate", "--T", "300", "--threads", "1,2", "--scan", "blelloch,chunked",
                 "--nx", "1", "--ny", "1")
    assert len(found) == 2 * 2 * len(METHODS)
    for row in found:
        assert row["predicted_seconds"] > 0 and row["measured_seconds"] > 0, row
    assert len(good("--calibrate", "--T", "50", "--method", "sequential").splitlines()) == 3


def numbers(folder):
    check_without_gnuplot(folder)
    check_fields()
    check_choices()
    check_formats()
    check_orders()
    check_long()
    check_order()
    check_calibrate()


def main():
    if sys.argv[2] == "figures" and not shutil.which("gnuplot"):
        print("no gnuplot on the PATH")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        {"numbers": numbers, "figures": check_figures}[sys.argv[2]](pathlib.Path(name))


main()
