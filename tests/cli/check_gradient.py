"""What `filter --gradient` writes: the derivatives of the log-likelihood by every number of the model, compared with
those in tests/golden/gradient; and that there are none of a diffuse prior whose directions y does not all tell.
usage: check_gradient.py KALSCAN [GOLDEN_FOLDER] [-v]     -v: the largest error of each dataset"""
import argparse
import glob
import os
import subprocess
import tempfile

import h5py
import numpy as np

TOLERANCE = 1e-10           # of the largest derivative in a dataset
FLOOR = 1e-4                # of one unit of log-likelihood for each entry of y, when a dataset changes by its own size
LOGLIK_TOLERANCE = 1e-10    # relative to max(1, |loglik|)
COVARIANCES = ("Q", "R", "P0")

arguments = argparse.ArgumentParser()
arguments.add_argument("kalscan", type=os.path.abspath)
arguments.add_argument("golden", nargs="?", type=os.path.abspath, default=os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "golden", "gradient"))
arguments.add_argument("-v", action="store_true", dest="verbose")
given = arguments.parse_args()
problems = []
worst = dict(gradient=(0.0, ""), loglik=(0.0, ""))


def expect(condition, *what):
    if not condition:
        problems.append(" ".join(map(str, what)))
        print("BAD", problems[-1], flush=True)
    return condition


def members(group):
    return {k: v[()] for k, v in group.items() if isinstance(v, h5py.Dataset)}


def tell(kind, name, key, error):
    worst[kind] = max(worst[kind], (error, f"{name} {key}"))
    if given.verbose:
        print(f"  {name:20s} {key:8s} {error:9.2e}", flush=True)


def compare_loglik(name, made, want):
    if not expect(np.shape(made) == want.shape and np.isfinite(made).all(), name, "loglik is", made, "not", want):
        return
    error = np.max(abs(made - want) / np.maximum(1, abs(want)))
    tell("loglik", name, "loglik", error)
    expect(error <= LOGLIK_TOLERANCE, name, f"loglik is off by {error:.2e}")


def compare(name, key, made, want, model, present):
    """One dataset. What the log-likelihood does not depend on has derivatives of zero, not of round-off."""
    if not expect(made.shape == want.shape, name, key, "has shape", made.shape, "not", want.shape):
        return
    if not expect(made.dtype == np.float64, name, key, "is of type", made.dtype):
        return
    if not expect(np.isfinite(made).all(), name, key, "has", np.sum(~np.isfinite(made)), "values that are not finite"):
        return
    expect(not made[want == 0].any(), name, key, "has derivatives by numbers that are not used")
    if key in COVARIANCES and made.ndim > 1:
        expect(np.array_equal(made, np.swapaxes(made, -1, -2)), name, key, "is not symmetric")
    unit = abs(want).max() + FLOOR * present / (abs(model).max() or 1)
    error = abs(made - want).max() / unit if unit else 0.0      # nothing was observed
    tell("gradient", name, key, error)
    if error > TOLERANCE:
        at = np.unravel_index(np.argmax(abs(made - want)), want.shape)
        expect(False, name, key, f"is off by {error:.2e} at {tuple(map(int, at))}: {made[at]!r}, not {want[at]!r}")


def check(path):
    name, out = os.path.basename(path)[:-len(".h5")], os.path.basename(path)
    with h5py.File(path) as f:
        want, model = members(f["expected/gradient"]), members(f["model"])
        loglik, present = f["expected/loglik"][()], np.sum(~np.isnan(f["y"][()]))
    done = subprocess.run([given.kalscan, "filter", path, "-o", out, "--gradient", "--quiet"],
                          capture_output=True, text=True, check=False)
    if not expect(done.returncode == 0, name, "exit", done.returncode, done.stderr.strip()):
        return
    with h5py.File(out) as f:
        made = members(f["gradient"]) if "gradient" in f else {}
        made_loglik = f["loglik"][()] if "loglik" in f else np.nan
    compare_loglik(name, made_loglik, loglik)
    for key in sorted(want.keys() - made.keys()):
        expect(False, name, "has no gradient by", key)
    for key in sorted(made.keys() - want.keys()):
        expect(False, name, "has a gradient by", key, "which is not in the model")
    for key in sorted(want.keys() & made.keys()):
        compare(name, key, made[key], want[key], model[key], present)


def check_untold():
    """A single row of y tells the level of a trend and leaves its slope open: refused for the series that has no more,
    and nothing written."""
    with h5py.File("untold.h5", "w") as f:
        f["y"] = [[[1.0], [2]], [[1], [np.nan]]]
        for key, a in dict(F=[[1.0, 1], [0, 1]], Q=np.eye(2), H=[[1.0, 0]], R=[[1.0]], P0_inf=np.eye(2)).items():
            f["model/" + key] = a
        f["model"].attrs["prior"] = "x1"
    done = subprocess.run([given.kalscan, "filter", "untold.h5", "-o", "untold_out.h5", "--gradient", "--quiet"],
                          capture_output=True, text=True, check=False)
    expect(done.returncode == 1 and "series 1, no gradient" in done.stderr, "untold: exit", done.returncode,
           done.stderr.strip())
    expect(not glob.glob("untold_out.h5*"), "untold: left", glob.glob("untold_out.h5*"))
    if given.verbose:
        print(f"  untold: {done.stderr.strip()}", flush=True)


def main():
    cases = sorted(glob.glob(os.path.join(given.golden, "*.h5")))
    assert len(cases) >= 12, given.golden
    for path in cases:
        check(path)
    check_untold()
    for kind, tolerance in (("gradient", TOLERANCE), ("loglik", LOGLIK_TOLERANCE)):
        error, where = worst[kind]
        print(f"{kind:8s} worst {error:9.2e}, allowed {tolerance:.0e}: {where}")
    return f"{len(problems)} problems" if problems else 0


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    raise SystemExit(main())
