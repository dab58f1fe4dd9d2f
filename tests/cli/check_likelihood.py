"""What examples/likelihood.py finds by the library is what the command finds in files, and what is published.

usage: check_likelihood.py KALSCAN ROOT      with LIBKALSCAN, the path of the library"""
import json
import os
import subprocess
import sys
import tempfile

import h5py
import numpy as np

kalscan, root = (os.path.abspath(a) for a in sys.argv[1:3])
sys.path.insert(0, os.path.join(root, "examples"))
import likelihood

# R's StructTS(Nile, "level"): 1469 and 15099. What the page shows is what is printed.
script = os.path.join(root, "examples", "likelihood.py")
printed = subprocess.run([sys.executable, "-B", script], check=True, text=True, capture_output=True).stdout
assert printed.startswith("level 1469, irregular 15099: "), printed
assert "examples/likelihood.py\n" + printed in open(os.path.join(root, "docs", "python.md"), encoding="utf-8").read()

with tempfile.TemporaryDirectory() as folder:
    made = os.path.join(folder, "made.h5")
    subprocess.run([kalscan, "generate", "constant-velocity", "--T", "400", "--missing", "0.2", "-o", made, "--quiet"],
                   check=True)
    moved = os.path.join(folder, "moved.h5")   # by u and d
    with h5py.File(made) as f, h5py.File(moved, "w") as g:
        f.copy("y", g)
        f.copy("model", g)
        g["model/u"], g["model/d"] = 0.1 * np.arange(1, 1 + len(f["model/m0"])), 0.3 * np.arange(1, 1 + f["y"].shape[1])
    trend = os.path.join(folder, "trend.h5")   # all of it diffuse
    with h5py.File(os.path.join(root, "data", "nile.h5")) as f, h5py.File(trend, "w") as g:
        f.copy("y", g)
        g["model/F"], g["model/H"], g["model/R"] = [[1.0, 1], [0, 1]], [[1.0, 0]], 15099.0
        g["model/Q"], g["model/P0_inf"] = np.diag([1469.0, 10]), np.diag([1.0, 4])
        g["model"].attrs["prior"] = "x0"
    for name in (made, moved, trend, *(os.path.join(root, "data", name) for name in ("nile.h5", "co2.h5"))):
        with h5py.File(name) as f:
            y, group = f["y"][:], f["model"]
            model = {key: group[key][()] for key in group}
            prior = group.attrs.get("prior", "x0")
        for key in [key for key in model if key.endswith("_diag")]:
            model[key.removesuffix("_diag")] = np.diag(model.pop(key))
        found = likelihood.Likelihood(y, nx=len(np.atleast_1d(model.get("m0", [0, 0]))))
        told = subprocess.run([kalscan, "filter", name, "-o", os.path.join(folder, "out.h5"), "--force", "--json",
                               "--method", "sequential", "--gradient"], check=True, text=True, capture_output=True).stdout
        for attempt in range(2):    # a plan runs more than once
            value = found(**model, prior=int(prior[-1]))
            print(name, value)
            assert abs(value - json.loads(told)["loglik"]) <= 1e-12 * abs(value), (value, told)
            value, by = found.gradient(**model, prior=int(prior[-1]))
            assert abs(value - json.loads(told)["loglik"]) <= 1e-9 * abs(value), (value, told)
            with h5py.File(os.path.join(folder, "out.h5")) as f:
                for key, dataset in f["gradient"].items():
                    got = by[key.removesuffix("_diag")]
                    if key.endswith("_diag"):
                        got = np.diag(got)
                    assert np.array_equal(got.ravel(), dataset[()].ravel()), (name, key, got, dataset[()])

# What is no covariance, or not finite, has no likelihood, whatever the filter makes of it; what is singular has one.
one, two = dict(F=1, Q=1, H=1, R=1, m0=0, P0=1), dict(F=np.eye(2), Q=np.eye(2), H=np.eye(2), R=np.eye(2), m0=[0, 0], P0=np.eye(2))
for model, wrong in [(one, wrong) for wrong in (dict(R=-10), dict(R=np.eye(2)), dict(R="x"), dict(m0=[0, 0]), dict(Q=-100),
                                                dict(P0=-1e-3), dict(Q=np.nan), dict(R=-1e-3, P0=10), dict(F=np.inf))] + [
        (two, {name: matrix}) for name in ("Q", "R", "P0")
        for matrix in ([[1, 2], [2, 1]], [[1, 0.1], [0.2, 1]], [[1e3, 0], [0, -1]])]:
    try:
        likelihood.Likelihood(np.ones((3, len(np.atleast_1d(model["m0"])))), nx=len(np.atleast_1d(model["m0"])))(
            **{**model, **wrong})
    except ValueError as error:
        print(error)
    else:
        raise AssertionError(wrong)
singular = likelihood.Likelihood(np.ones((3, 2)), nx=2)(**{**two, "Q": np.zeros((2, 2)), "P0": np.ones((2, 2))})
assert np.isfinite(singular), singular
