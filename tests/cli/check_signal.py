"""What --signal writes: H x + d of the states that stand beside it, with its covariance and the variances of
observations of it, in every form of input and output. usage: check_signal.py KALSCAN"""
import json
import os
import resource
import subprocess
import sys
import tempfile

import h5py
import numpy as np

kalscan = os.path.abspath(sys.argv[1])
T, NX, NY = 40, 3, 2
JOBS = (("smooth", "smoothed"), ("filter", "filtered"))
AXES = {"series", "time", "state", "state_2", "obs", "obs_2"}


def turned(a):
    return np.swapaxes(a, -1, -2)


def write(name="in.h5", B=None, steps=(), series=(), layout="c", T=T, nx=NX, ny=NY, **changes):
    """A random model with entries missing; what varies with the step, or the series, has its axes in front."""
    rng = np.random.default_rng(7)

    def drawn(key, *shape):
        lead = (B, T) if key in series else (T,) if key in steps else ()
        return rng.normal(size=lead + shape)

    def covariance(key, n):
        root = drawn(key, n, n)
        return root @ turned(root) / n + 0.5 * np.eye(n)

    model = dict(F=0.9 * np.eye(nx) + 0.1 * drawn("F", nx, nx) / nx, Q=covariance("Q", nx), H=drawn("H", ny, nx),
                 R=covariance("R", ny), d=drawn("d", ny), u=drawn("u", nx), m0=np.ones(nx), P0=np.eye(nx))
    y = 2 * rng.normal(size=(T, ny) if B is None else (B, T, ny))
    y[rng.uniform(size=y.shape) < 0.2] = np.nan
    y[..., T // 2:T // 2 + 5, :] = np.nan
    model.update(changes)
    with h5py.File(name, "w") as f:
        f["y"] = changes.get("y", y)
        for key, value in model.items():
            if key != "y" and value is not None:
                f["model/" + key] = turned(value) if layout == "fortran" and key in "FQHRP0" else value
        f["model"].attrs["layout"] = layout
    model.setdefault("y", y)
    return model


def call(*arguments, **more):
    return subprocess.run([kalscan, *arguments], capture_output=True, text=True, check=False, **more)


def read(name):
    arrays = {}
    with h5py.File(name) as f:
        f.visititems(lambda k, v: arrays.update({k: v[()]} if isinstance(v, h5py.Dataset) and k not in AXES else {}))
    return arrays


def made(job, *options, source="in.h5", out="out.h5"):
    done = call(job, source, "-o", out, "--signal", "--quiet", "--force", *options)
    assert done.returncode == 0, done.stderr
    return read(out)


def defined(model, states, cov):
    """In double, and the sizes of what is summed: both sums are off by a few round-offs of these."""
    H = model["H"]
    d = 0 if model["d"] is None else model["d"]
    mean = np.einsum("...ij,...j->...i", H, states) + d
    signal = H @ cov @ turned(H)
    observed = np.einsum("...ii->...i", signal + model["R"])
    sizes = abs(H) @ abs(cov) @ turned(abs(H)) + abs(model["R"])
    return (mean, np.einsum("...ij,...j->...i", abs(H), abs(states)) + abs(d)), (signal, sizes), (
        observed, np.einsum("...ii->...i", sizes))


def as_it_is_defined():
    for form in (dict(), dict(steps="H"), dict(steps="HRd"), dict(B=3), dict(B=3, series="HRd"), dict(layout="fortran"),
                 dict(layout="fortran", steps="HR", ny=3), dict(d=None), dict(nx=1, ny=1), dict(T=1),
                 dict(T=1, B=2, ny=1)):
        model = write(**form)
        for job, kind in JOBS:
            for precision in ("f64", "f32", "mixed"):
                f = made(job, "--precision", precision)
                rounding = 4 * (NX + 2) * (2.0**-53 if precision == "f64" else 2.0**-24)
                arrays = ("signal/mean", "signal/cov", "signal/observed_var")
                for name, (expected, sizes) in zip(arrays, defined(model, f[kind + "/mean"], f[kind + "/cov"])):
                    assert f[name].shape == expected.shape, (form, name, f[name].shape)
                    assert np.all(abs(f[name] - expected) <= rounding * sizes), (form, job, precision, name)
                    narrow = precision == "f32" or (precision == "mixed" and name != "signal/mean")
                    assert f[name].dtype == ("f4" if narrow else "f8")
                assert np.array_equal(f["signal/cov"], turned(f["signal/cov"]))


def of_the_identity():
    write(nx=NY, H=np.eye(NY), d=None)
    for job, kind in JOBS:
        f = made(job)
        assert np.array_equal(f["signal/mean"], f[kind + "/mean"]) and np.array_equal(f["signal/cov"], f[kind + "/cov"])


def parts():
    """--cov decides what there is of it; covariances that only the signal needs are not written."""
    write(steps="H")
    for job, kind in JOBS:
        more = ["--method", "sequential"]
        full, diagonal, none = (made(job, "--cov", part, *more) for part in ("full", "diag", "none"))
        names = [{key for key in arrays if key.startswith(("signal", kind))} for arrays in (full, diagonal, none)]
        assert names[0] == {"signal/mean", "signal/cov", "signal/observed_var", kind + "/mean", kind + "/cov"}
        assert names[1] == {"signal/mean", "signal/cov_diag", "signal/observed_var", kind + "/mean", kind + "/cov_diag"}
        assert names[2] == {"signal/mean", kind + "/mean"}
        assert all(np.array_equal(a["signal/mean"], full["signal/mean"]) for a in (diagonal, none))
        assert np.array_equal(diagonal["signal/cov_diag"], np.einsum("kii->ki", full["signal/cov"]))
        assert np.array_equal(diagonal["signal/observed_var"], full["signal/observed_var"])
        with h5py.File("out.h5") as f:
            assert "state_2" not in f and "obs" in f
        made(job, "--cov", "diag", *more)
        with h5py.File("out.h5") as f:
            assert "state_2" not in f and "obs_2" not in f
        call(job, "in.h5", "-o", "without.h5", "--cov", "diag", "--quiet", *more)
        without = read("without.h5")
        assert not any("signal" in key for key in without)
        assert all(np.array_equal(without[key], diagonal[key]) for key in without)
        os.remove("without.h5")
    everything = made("smooth", "--lag-one", "--filtered")
    assert {"smoothed/lag_one_cov", "smoothed/prior_cov", "filtered/cov"} <= everything.keys()
    plain = made("smooth", "--method", "sequential")
    assert all(np.array_equal(everything[key], plain[key]) for key in plain if "signal" in key)
    everything = made("filter", "--predicted", "--innovations")
    assert {"predicted/cov", "innovations/cov", "signal/cov", "loglik_terms"} <= everything.keys()


def what_is_to_come():
    """The signal of a step ahead is what the filter expects there when its observation comes, with the innovation's
    variance; further ahead, and in gaps, it is that of rows of NaN."""
    model = write(u=None)
    y = np.where(np.isnan(model["y"]), 0.5, model["y"])
    write(u=None, y=y)
    later = made("filter", "--innovations")
    write(u=None, y=y[:-1])
    for job, _ in JOBS:
        ahead = made(job, "--forecast", "1")
        assert len(ahead["signal/mean"]) == T
        assert np.allclose(y[-1] - ahead["signal/mean"][-1], later["innovations/residual"][-1], rtol=1e-10, atol=1e-12)
        assert np.allclose(ahead["signal/observed_var"][-1], np.diag(later["innovations/cov"][-1]), rtol=1e-10)
    write(u=None)
    for job, _ in JOBS:
        forecast = made(job, "--forecast", "7", "--method", "sequential")
        write("appended.h5", u=None, y=np.concatenate([model["y"], np.full((7, NY), np.nan)]))
        appended = made(job, "--method", "sequential", source="appended.h5")
        for name in ("mean", "cov", "observed_var"):
            assert np.array_equal(forecast["signal/" + name], appended["signal/" + name]), (job, name)
            assert np.all(np.isfinite(forecast["signal/" + name]))


def whatever_computes_it():
    """The same bits on any number of threads; every method's states have theirs."""
    model = write("many.h5", B=6, steps="HR")
    one = made("smooth", "--threads", "1", source="many.h5")
    for threads in ("2", "3", "5"):
        other = made("smooth", "--threads", threads, source="many.h5")
        assert all(np.array_equal(one[key], other[key], equal_nan=True) for key in one), threads
    # Threads need more memory here than the filter, which takes one of them.
    write("wide.h5", T=64, nx=1, ny=100, y=np.zeros((64, 100)))
    one, other = (made("filter", "--threads", threads, source="wide.h5") for threads in ("1", "32"))
    assert all(np.array_equal(one[key], other[key]) for key in one)
    told = [call("filter", "wide.h5", "--dry-run", "--json", "--threads", "32", *signal).stdout
            for signal in (["--signal"], [])]
    more, less = (json.loads(text)["bytes"] for text in told)
    assert more["workspace"] >= 32 * 100**2 * 8 > less["workspace"], (more, less)
    for method in ("two-ended", "scan-rts", "scan-two-filter", "blocktri"):
        f = made("smooth", "--method", method, source="many.h5")
        mean, cov, observed = defined(model, f["smoothed/mean"], f["smoothed/cov"])
        assert np.allclose(f["signal/mean"], mean[0], rtol=1e-13, atol=1e-13)
        assert np.allclose(f["signal/cov"], cov[0], rtol=1e-13, atol=1e-13)
        assert np.allclose(f["signal/observed_var"], observed[0], rtol=1e-13, atol=1e-13)


def axes():
    write(B=2)
    made("filter", "--compress", "4")
    names = {"signal/mean": ["series", "time", "obs"], "signal/cov": ["series", "time", "obs", "obs_2"],
             "signal/observed_var": ["series", "time", "obs"]}
    with h5py.File("out.h5") as f:
        for name, expected in names.items():
            assert [dim.label for dim in f[name].dims] == expected, name
            assert all(dim.label in dim.keys() for dim in f[name].dims)
            assert f[name].compression == "gzip" and f[name].shuffle and "y[0..k])" in f[name].attrs["long_name"]
    made("smooth", "--cov", "diag")
    with h5py.File("out.h5") as f:
        assert all("| y)" in f["signal/" + name].attrs["long_name"] for name in ("mean", "cov_diag", "observed_var"))


def estimated():
    """What --dry-run says of outputs is what stands in them; covariances that are not written are workspace."""
    write(B=2, T=2000)
    for job, _ in JOBS:
        for part in ("full", "diag", "none"):
            options = ["--cov", part, "--method", "sequential", "--threads", "1"]
            arrays = [made(job, *options), None]
            assert call(job, "in.h5", "-o", "plain.h5", "--quiet", "--force", *options).returncode == 0
            arrays[1] = read("plain.h5")
            told = [call(job, "in.h5", "--dry-run", "--json", *options, *more) for more in (["--signal"], [])]
            told = [json.loads(done.stdout)["bytes"] for done in told]
            for bytes_of, written in zip(told, arrays):
                assert bytes_of["output"] == sum(a.nbytes for a in written.values()), (job, part)
            if part == "diag":
                assert told[0]["workspace"] >= 2 * 2000 * NX * NX * 8 > told[1]["workspace"], (job, told)
            line = call(job, "in.h5", "--dry-run", "--signal", *options).stdout.splitlines()[-1]
            assert f"in {len(arrays[0])} arrays" in line, (line, arrays[0].keys())


def full_disk():
    """Room is asked for before anything is read, for the signal too; compressed, it is missed when it is written."""
    write(T=4000, ny=8, nx=1, y=np.zeros((4000, 8)))

    def limited(size, *options):
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        return call("filter", "in.h5", "-o", "full.h5", *options, preexec_fn=limit)

    assert call("filter", "in.h5", "-o", "full.h5", "--signal", "--quiet").returncode == 0
    without, room = 300000, os.path.getsize("full.h5")
    os.remove("full.h5")
    assert limited(without, "--quiet").returncode == 0
    os.remove("full.h5")
    for size in (without, room * 9 // 10):
        done = limited(size, "--signal")
        assert done.returncode == 4 and "cannot write: it needs" in done.stderr and not done.stdout, done
    done = limited(without, "--signal", "--cov", "none", "--quiet")
    assert done.returncode == 4, done
    done = limited(without // 10, "--signal", "--compress", "1")
    assert done.returncode == 4 and "cannot write" in done.stderr and "it needs" not in done.stderr, done
    assert not [name for name in os.listdir(".") if "full" in name], os.listdir(".")
    # HDF5 2 makes a file longer for a while than it is in the end, by less than a page.
    assert limited(room + 4096, "--signal", "--quiet").returncode == 0


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for check in (as_it_is_defined, of_the_identity, parts, what_is_to_come, whatever_computes_it, axes, estimated,
                  full_disk):
        check()
        print("ok", check.__name__)
