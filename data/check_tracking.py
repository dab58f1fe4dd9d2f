"""Check tracking.h5 against its generator and `kalscan smooth` against the true states.

usage: check_tracking.py [KALSCAN]       exit 1 when something is off

The smoothed covariances promise how far the estimates are from the truth: the squared distance in
their metric averages to the number of states, 6, within a few percent over so many steps.
"""
import os
import subprocess
import sys
import tempfile
import h5py
import numpy as np
import make_tracking

HERE = os.path.dirname(os.path.abspath(__file__))


def normalised_error(kalscan, path, states):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.h5")
        subprocess.run([kalscan, "smooth", path, "-o", out, "--quiet"], check=True)
        with h5py.File(out) as f:
            error, cov = f["smoothed/mean"][()] - states, f["smoothed/cov"][()]
    z = np.linalg.solve(cov, error[:, :, None])[:, :, 0]
    return float(np.mean(np.sum(error * z, axis=1)))


def main():
    path = os.path.join(HERE, "tracking.h5")
    states, y = make_tracking.simulate()
    with h5py.File(path) as f:
        same = np.array_equal(f["y"][()], y, equal_nan=True)
        for name, a in make_tracking.model().items():
            same &= np.array_equal(f["model"][name][()], a)
    print("file and generator agree" if same else "FILE AND GENERATOR DIFFER")
    if len(sys.argv) > 1:
        error = normalised_error(sys.argv[1], path, states)
        print(f"mean squared normalised error {error:.3f}, expected 6")
        same &= abs(error - 6) < 0.3
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
