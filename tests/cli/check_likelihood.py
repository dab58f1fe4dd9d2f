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
    for name in (made, *(os.path.join(root, "data", name) for name in ("nile.h5", "co2.h5"))):
        with h5py.File(name) as f:
            y, group = f["y"][:], f["model"]
            model = {key: group[key][()] for key in group}
            prior = group.attrs.get("prior", "x0")
        for key in [key for key in model if key.endswith("_diag")]:
            model[key[0]] = np.diag(model.pop(key))
        found = likelihood.Likelihood(y, nx=len(np.atleast_1d(model["m0"])))
        told = subprocess.run([kalscan, "filter", name, "-o", os.path.join(folder, "out.h5"), "--force", "--json",
                               "--method", "sequential"], check=True, text=True, capture_output=True).stdout
        for attempt in range(2):    # a plan runs more than once
            value = found(**model, prior=int(prior[-1]))
            print(name, value)
            assert abs(value - json.loads(told)["loglik"]) <= 1e-12 * abs(value), (value, told)

for wrong in (dict(R=-10), dict(R=np.eye(2)), dict(R="x"), dict(m0=[0, 0])):
    try:
        likelihood.Likelihood([1, 2, 3], nx=1)(**{**dict(F=1, Q=1, H=1, R=1, m0=0, P0=1), **wrong})
    except ValueError as error:
        print(error)
    else:
        raise AssertionError(wrong)
