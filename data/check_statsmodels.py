"""Compare `kalscan smooth` and `kalscan filter` on nile.h5 and co2.h5 with statsmodels.

usage: check_statsmodels.py KALSCAN      exit 1 when a result differs by more than the bounds

statsmodels' log-likelihood is compared with all observed entries counted (loglikelihood_burn = 0),
and its first state is N(m0, P0): prior x1. Its smoother loses digits with a vague prior, hence
bounds in posterior standard deviations that are wider than kalscan's own.
"""
import os
import subprocess
import sys
import tempfile
import h5py
import numpy as np
from state_space import smoother

HERE = os.path.dirname(os.path.abspath(__file__))
BOUNDS = dict(loglik=1e-9, filtered=1e-6, smoothed=1e-6)


def run(kalscan, job, path, folder):
    out = os.path.join(folder, job + ".h5")
    subprocess.run([kalscan, job, path, "-o", out, "--force", "--quiet"], check=True)
    with h5py.File(out) as f:
        group = "smoothed" if job == "smooth" else "filtered"
        return f[group + "/mean"][()], f[group + "/cov"][()], float(np.ravel(f["loglik"][()])[0])


def deviation(mean, cov, expected_mean, expected_cov):
    """The largest error in posterior standard deviations, of means and of covariances."""
    sd = np.sqrt(np.einsum("kii->ki", expected_cov))
    return max(np.max(np.abs(mean - expected_mean) / sd),
               np.max(np.abs(cov - expected_cov) / (sd[:, :, None] * sd[:, None])))


def compare(kalscan, path, folder):
    with h5py.File(path) as f:
        assert f["model"].attrs["prior"] == "x1"
        y = f["y"][()]
        s = smoother(y, **{k: f["model"][k][()] for k in ("F", "Q", "H", "R", "m0", "P0")})
    s.smooth_method = 0x02  # the classical recursion: it loses least
    r = s.smooth()
    wanted = dict(smooth=(r.smoothed_state.T, np.moveaxis(r.smoothed_state_cov, 2, 0)),
                  filter=(r.filtered_state.T, np.moveaxis(r.filtered_state_cov, 2, 0)))
    loglik, errors = float(np.sum(r.llf_obs)), {}
    for job, name in (("filter", "filtered"), ("smooth", "smoothed")):
        mean, cov, value = run(kalscan, job, path, folder)
        errors[name] = deviation(mean, cov, *wanted[job])
        errors["loglik"] = max(errors.get("loglik", 0), abs(value - loglik) / abs(loglik))
    print(f"{os.path.basename(path)}: log-likelihood {value:.6f}, statsmodels {loglik:.6f}")
    for name, error in errors.items():
        print(f"  {name:9s} differs by {error:.1e} (bound {BOUNDS[name]:.0e})")
    return all(error <= BOUNDS[name] for name, error in errors.items())


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        same = [compare(sys.argv[1], os.path.join(HERE, name), folder)
                for name in ("nile.h5", "co2.h5")]
    sys.exit(0 if all(same) else 1)


if __name__ == "__main__":
    main()
