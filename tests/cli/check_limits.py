"""Where the reader draws its lines: how much asymmetry and how negative an eigenvalue it takes, what it
does not look at, and what stands for the same. usage: check_limits.py KALSCAN"""
import os
import subprocess
import sys
import tempfile

import h5py
import numpy as np

kalscan = os.path.abspath(sys.argv[1])
T, NX = 6, 2
Y = np.array([[1.0], [2.0], [np.nan], [2.5], [4.0], [3.5]])
MODEL = dict(F=np.array([[1.0, 0.5], [0.0, 1.0]]), Q=np.array([[0.2, 0.1], [0.1, 0.3]]), H=np.array([[1.0, 0.25]]),
             R=np.array([[0.5]]), m0=np.array([1.0, -1.0]), P0=np.array([[2.0, 0.5], [0.5, 1.0]]))


def write(name="in.h5", y=Y, fill=None, t=None, attributes=None, **changes):
    """The plain model and what differs from it; None leaves a dataset out."""
    with h5py.File(name, "w") as f:
        if y is not None:
            f["y"] = y
        if fill is not None:
            f["y"].attrs["_FillValue"] = fill
        if t is not None:
            f["t"] = t
        for key, value in {**MODEL, **changes}.items():
            if value is not None:
                f["model/" + key] = value
        if "model" in f:
            f["model"].attrs.update(attributes or {})


def call(*arguments):
    return subprocess.run([kalscan, *arguments], capture_output=True, text=True, check=False)


def code():
    return call("smooth", "in.h5", "--dry-run", "--quiet").returncode


def estimates(*options, job="smooth", source="in.h5"):
    done = call(job, source, "-o", "out.h5", "--quiet", "--force", "--method", "sequential", *options)
    assert done.returncode == 0, done.stderr
    arrays = {}
    with h5py.File("out.h5") as f:
        f.visititems(lambda k, v: arrays.update({k: v[()]} if isinstance(v, h5py.Dataset) else {}))
    return arrays


def same(one, other):
    assert one.keys() == other.keys()
    for key in one:
        assert np.array_equal(one[key], other[key], equal_nan=True), key


def symmetry():
    """1e-8 of the largest entry, 1e-4 of single-precision data; below that the symmetric part is taken."""
    for name in ("Q", "R", "P0"):
        n = 2
        for number, limit in (("f8", 1e-8), ("f4", 1e-4)):
            for share, expected in ((0.9, 0), (1.1, 3)):
                matrix = np.array([[4.0, 1.0], [1.0 + 4 * share * limit, 2.0]])
                two = dict(H=np.eye(n), y=np.ones((T, n))) if name == "R" else {}
                write(**{"R": np.eye(2) if two else MODEL["R"], **two, name: matrix.astype(number)})
                assert code() == expected, (name, number, share)
    matrix = np.array([[4.0, 1.0], [1.0 + 2e-8, 2.0]])
    write(Q=matrix)
    one = estimates()
    write(Q=(matrix + matrix.T) / 2)
    same(one, estimates())


def definiteness():
    """-1e-10 of the trace, -1e-5 in single precision, in full and as a diagonal."""
    for name in ("Q", "P0"):
        for number, limit in (("f8", 1e-10), ("f4", 1e-5)):
            for share, expected in ((0.9, 0), (1.1, 3)):
                diagonal = np.array([8.0, -8.0 * share * limit])
                for change in ({name: np.diag(diagonal).astype(number)},
                               {name: None, name + "_diag": diagonal.astype(number)}):
                    write(**change)
                    assert code() == expected, (change, share)


def vanishing():
    """A variance that single precision has no normal number for, in full or as a diagonal; 0 and what stands beside
    the diagonal may be."""
    least = float(np.finfo("f4").tiny)
    for name, index in (("Q", "[0, 0]"), ("R", "[0, 0]"), ("P0", "[0, 0]"), ("Q_diag", "[0]"), ("R_diag", "[0]")):
        cases = ((1e-44, "f32", 3), (least, "mixed", 0), (1e-60, "mixed", 3), (0.99 * least, "f32", 3), (0.0, "f32", 0),
                 (1e-44, "f64", 0))
        for value, precision, expected in cases if name == "Q" else cases[:2]:
            n = 1 if name[0] == "R" else 2
            matrix = np.diag([value, 3.0][:n])
            write(**({name: matrix} if name in MODEL else {name[0]: None, name: np.diag(matrix)}))
            done = call("filter", "in.h5", "--dry-run", "--quiet", "--precision", precision)
            assert done.returncode == expected, (name, value, precision, done)
            assert expected == 0 or f"/model/{name}{index} is {value:g}, too small for single" in done.stderr, done
    write(Q=np.tile(np.array([[1.0, 1e-44], [1e-44, 1.0]]), (T, 1, 1)) * (np.arange(T) != 3)[:, None, None])
    assert call("filter", "in.h5", "--dry-run", "--precision", "f32").returncode == 0
    write(Q=np.tile(np.eye(2), (T, 1, 1)) * np.where(np.arange(T) == 3, 1e-40, 1)[:, None, None])
    assert "/model/Q[3, 0, 0] is 1e-40" in call("filter", "in.h5", "--dry-run", "--precision", "f32").stderr
    assert call("filter", "in.h5", "--dry-run").returncode == 0


def unread():
    """Under prior x1 row 0 of F, Q and u may be anything, and of a single step nothing is read of them."""
    rows = {k: np.tile(MODEL[k], (T, 1, 1)) for k in "FQ"}
    junk = {k: v.copy() for k, v in rows.items()}
    junk["F"][0], junk["Q"][0] = np.nan, [[1, 5], [4, -1]]
    write(attributes=dict(prior="x1"), **rows)
    one = estimates("--lag-one")
    write(attributes=dict(prior="x1"), **junk)
    same(one, estimates("--lag-one"))
    assert call("smooth", "in.h5", "--dry-run", "--prior", "x0").returncode == 3
    write(attributes=dict(prior="x1"), y=Y[:1])
    one = estimates()
    nothing = np.full((NX, NX), np.nan)
    write(attributes=dict(prior="x1"), y=Y[:1], F=nothing, Q=nothing)
    same(one, estimates())
    write(attributes=dict(prior="x1", transition="out-of"), y=Y[:1], F=nothing[None][:0], Q=nothing[None][:0])
    same(one, estimates())


def stands_for_the_same():
    write()
    one = estimates()
    write(y=np.nan_to_num(Y, nan=np.inf), fill=np.inf)
    same(one, estimates())
    write(y=None, attributes=dict(prior="x1", transition="into"), name="model.h5")
    write(**{k: None for k in MODEL})
    x1 = estimates("--model-file", "model.h5")
    write(attributes=dict(prior="x1"))
    same(x1, estimates())
    write(Q=None, Q_diag=np.array([[0.2], [0.3]]), P0=None, P0_diag=np.array([[2.0, 1.0]]))
    columns = estimates()
    write(Q=np.diag([0.2, 0.3]), P0=np.diag([2.0, 1.0]))
    same(columns, estimates())
    series = np.stack([Y, Y, Y])
    write(y=series, F=np.tile(MODEL["F"], (3, 1, 1, 1)), Q=np.tile(MODEL["Q"], (1, T, 1, 1)))
    several = estimates()
    assert all(np.array_equal(several["smoothed/mean"][k], one["smoothed/mean"]) for k in range(3))


def trailing():
    """Rows without an entry at the end add nothing to the log-likelihood."""
    series = np.stack([Y, Y, Y])
    series[1, 4:], series[2, 1:] = np.nan, np.nan
    write(y=series)
    for job in ("smooth", "filter"):
        together = estimates(job=job)["loglik"]
        for number, length in enumerate((T, 4, 1)):
            write("one.h5", y=Y[:length])
            alone = estimates(job=job, source="one.h5")["loglik"]
            assert np.isclose(together[number], alone, rtol=1e-14), (job, together, alone)


def forecast():
    """Steps ahead are rows of NaN that nobody has to append; time stamps go on as they do at the end."""
    def appended(y):
        return np.concatenate([y, np.full(y.shape[:-2] + (4, y.shape[-1]), np.nan)], axis=-2)
    series, t = np.stack([Y, Y + 1, Y * np.nan]), 1960 + 0.25 * np.arange(T + 4)
    for y, more in ((Y, {}), (series, dict(u=np.ones(NX), Q=np.stack([MODEL["Q"]] * 3)[:, None])),
                    (Y[:1], dict(attributes=dict(prior="x1")))):
        for job, *options in (("smooth", "--lag-one"), ("filter", "--predicted", "--innovations", "--precision", "f32")):
            write(y=appended(y), t=t[:y.shape[-2] + 4], **more)
            one = estimates(*options, job=job)
            write(y=y, t=t[:y.shape[-2]] if y.shape[-2] > 1 else None, **more)
            other = estimates(*options, "--forecast", "4", job=job)
            if y.shape[-2] == 1:
                del one["t"], one["time"], other["time"]
            same(one, other)
    with h5py.File("out.h5") as f:
        assert f.attrs["forecast"] == 4
    write(y=np.nan_to_num(Y, nan=-9.0), fill=-9.0)
    told = call("filter", "in.h5", "--dry-run", "--forecast", "4").stdout
    assert f"T = {T + 4} of which 4 ahead" in told and f"1 of {T} entries missing" in told, told
    for name, value in (("F", np.tile(MODEL["F"], (T, 1, 1))), ("u", np.zeros((T, NX))), ("R", np.ones((1, T, 1, 1)))):
        write(**{name: value})
        done = call("filter", "in.h5", "--dry-run", "--forecast", "4")
        assert done.returncode == 2 and f"in.h5: /model/{name} varies with the step" in done.stderr, done
    write()
    assert call("filter", "in.h5", "--forecast", "4").returncode == 2
    assert call("smooth", "in.h5", "--dry-run", "--forecast", "1e12").returncode in (2, 5)


def time_stamps():
    """Steps that differ by rounding are regular; where F varies it may know of the others."""
    stamps = 1.7e9 + 0.1 * np.arange(T)
    irregular = np.array([0.0, 1.0, 2.0, 3.0, 4.5, 5.0])
    nanoseconds = 1700000000000000000 + 10**6 * np.arange(T)
    for t, F, told in ((stamps, MODEL["F"], False), (nanoseconds, MODEL["F"], False), (irregular, MODEL["F"], True),
                       (irregular, np.tile(MODEL["F"], (T, 1, 1)), False)):
        write(t=t, F=F)
        assert ("irregular" in call("info", "in.h5").stdout) == told, (t, told)


def automatic():
    """auto avoids the method that it would take where that does not make what is asked for."""
    call("generate", "random", "--T", "6000", "-o", "long.h5", "--quiet")
    both = [call("smooth", "long.h5", "--dry-run", "--threads", "2", *more).stdout.split("method ")[1].split()[0]
            for more in ([], ["--filtered"])]
    assert both == ["two-ended", "sequential"], both


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for check in (symmetry, definiteness, vanishing, unread, stands_for_the_same, trailing, forecast, time_stamps, automatic):
        check()
        print("ok", check.__name__)
