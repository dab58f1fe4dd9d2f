"""Compare `kalscan smooth` and `kalscan filter` on nile.h5 and co2.h5 with statsmodels.

usage: check_statsmodels.py KALSCAN      exit 1 when a result differs by more than the bounds

statsmodels' first state is N(m0, P0), prior x1, and its log-likelihood is taken with every observed
entry counted (loglikelihood_burn = 0). Differences are counted in posterior standard deviations.

statsmodels' smoothers lose the covariances of the first weeks of co2.h5 with its vague prior
N(0, 1e6 I): some variances come out negative, by each of its methods. So its smoothed results are
compared after the first year there, and over all weeks with a copy of the file whose prior is
narrow. The golden case co2_start (tests/golden) has the first weeks in 50-digit arithmetic.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import h5py
import numpy as np
from state_space import smoother

HERE = os.path.dirname(os.path.abspath(__file__))
BOUNDS = dict(loglik=1e-9, filtered=1e-7, smoothed=1e-8)


def run(kalscan, job, path, folder):
    out = os.path.join(folder, job + ".out.h5")
    subprocess.run([kalscan, job, path, "-o", out, "--force", "--quiet"], check=True)
    with h5py.File(out) as f:
        group = "smoothed" if job == "smooth" else "filtered"
        return f[group + "/mean"][()], f[group + "/cov"][()], float(np.ravel(f["loglik"][()])[0])


def deviation(mean, cov, expected_mean, expected_cov):
    """The largest error in posterior standard deviations, of means and of covariances."""
    sd = np.sqrt(np.einsum("kii->ki", expected_cov))
    return max(np.max(np.abs(mean - expected_mean) / sd),
               np.max(np.abs(cov - expected_cov) / (sd[:, :, None] * sd[:, None])))


def compare(kalscan, path, folder, settled=0):
    """`settled`: the first step from which statsmodels' smoother can be trusted."""
    with h5py.File(path) as f:
        assert f["model"].attrs["prior"] == "x1"
        y = f["y"][()]
        s = smoother(y, **{k: f["model"][k][()] for k in ("F", "Q", "H", "R", "m0", "P0")})
    r = s.smooth()
    wanted = dict(filter=(r.filtered_state.T, np.moveaxis(r.filtered_state_cov, 2, 0), 0),
                  smooth=(r.smoothed_state.T, np.moveaxis(r.smoothed_state_cov, 2, 0), settled))
    loglik, errors = float(np.sum(r.llf_obs)), {}
    for job, name in (("filter", "filtered"), ("smooth", "smoothed")):
        mean, cov, value = run(kalscan, job, path, folder)
        expected_mean, expected_cov, first = wanted[job]
        errors[name] = deviation(mean[first:], cov[first:], expected_mean[first:],
                                 expected_cov[first:])
        errors["loglik"] = max(errors.get("loglik", 0), abs(value - loglik) / abs(loglik))
    print(f"{os.path.basename(path)}: log-likelihood {value:.6f}, statsmodels {loglik:.6f}")
    for name, error in errors.items():
        print(f"  {name:9s} differs by {error:.1e} (bound {BOUNDS[name]:.0e})")
    return all(error <= BOUNDS[name] for name, error in errors.items())


def with_narrow_prior(path, folder):
    """A copy whose first state is known to about one unit."""
    copy = os.path.join(folder, "narrow_prior_" + os.path.basename(path))
    shutil.copy(path, copy)
    with h5py.File(copy, "r+") as f:
        f["model/P0"][...] = np.eye(len(f["model/P0"]))
        f["model/m0"][0] = f["y"][0]
    return copy


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    nile, co2 = os.path.join(HERE, "nile.h5"), os.path.join(HERE, "co2.h5")
    with tempfile.TemporaryDirectory() as folder:
        same = [compare(sys.argv[1], nile, folder), compare(sys.argv[1], co2, folder, 52),
                compare(sys.argv[1], with_narrow_prior(co2, folder), folder)]
    sys.exit(0 if all(same) else 1)


if __name__ == "__main__":
    main()
