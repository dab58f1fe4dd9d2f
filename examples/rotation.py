"""Kalman smoothing as one block-tridiagonal system: many noisy channels see a state that turns in
many planes (Jin, Montoison & Shin, "Harnessing batched BLAS/LAPACK kernels on GPUs for parallel
solutions of block tridiagonal systems", Sec. 4.3: nx = 256, ny = 1024, T = 100, the default here).

The script writes the system of the most probable states (their equation 4.4) for `kalscan solve`,
and has `kalscan smooth` do all of it by `--method blocktri`. It tells the residuals, and how far
both are from the sequential smoother. usage: rotation.py [KALSCAN [NX [FOLDER]]]"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import h5py
import numpy as np

kalscan = shutil.which(sys.argv[1] if len(sys.argv) > 1 else "kalscan")
if not kalscan or len(sys.argv) > 4 or not all(map(str.isdigit, sys.argv[2:3])):
    sys.exit(f"{__doc__[__doc__.index('usage'):]}\nwithout KALSCAN, kalscan must be on the PATH; NX is the number of states")
kalscan = os.path.abspath(kalscan)
nx = int(sys.argv[2]) if len(sys.argv) > 2 else 256
temporary = tempfile.TemporaryDirectory()
folder = sys.argv[3] if len(sys.argv) > 3 else temporary.name


def run(*arguments):
    done = subprocess.run([kalscan, *arguments, "--force", "--json"], check=True, text=True,
                          capture_output=True, cwd=folder)
    return json.loads(done.stdout)


def read(name, *paths):
    with h5py.File(f"{folder}/{name}") as f:
        return [f[path][()] for path in paths]


# The model, and D, L, b: row k of the equations says that the gradient with respect to x[k] is zero.
run("generate", "rotation", "-o", "rotation.h5", "--nx", str(nx))
F, Q, H, R, m0, y = read("rotation.h5", "model/F", "model/Q", "model/H", "model/R_diag", "model/m0",
                         "y")
T = len(y)
Q_inverse = np.linalg.inv(Q)      # P0 = 0, so Q is also the prior covariance of x[0]
D = np.tile(Q_inverse + H.T / R @ H, (T, 1, 1))
D[:-1] += F.T @ Q_inverse @ F
b = (y / R) @ H
b[0] += Q_inverse @ (F @ m0)
with h5py.File(f"{folder}/system.h5", "w") as f:
    f["D"], f["L"], f["b"] = D, np.tile(-Q_inverse @ F, (T - 1, 1, 1)), b

solved = run("solve", "system.h5", "-o", "x.h5", "--inverse-blocks")
blocktri = run("smooth", "rotation.h5", "-o", "blocktri.h5", "--method", "blocktri")
sequential = run("smooth", "rotation.h5", "-o", "sequential.h5", "--method", "sequential")

(x, S), truth = read("x.h5", "x", "S_diag"), read("sequential.h5", "smoothed/mean", "smoothed/cov")
means, covariances = read("blocktri.h5", "smoothed/mean", "smoothed/cov")
sd = np.sqrt(np.einsum("kii->ki", truth[1]))
of_solve, of_smooth = (
    [abs((mean - truth[0]) / sd).max(), abs((cov - truth[1]) / (sd[:, :, None] * sd[:, None])).max()]
    for mean, cov in ((x, S), (means, covariances)))
print(f"nx = {nx}, ny = {len(R)}, T = {T}")
print(f"solve: {solved['method']}, residual {solved['residual']:.1e}, "
      f"relative {solved['relative_residual']:.1e}, factor {solved['seconds']['factor']:.2g} s, "
      f"solution {solved['seconds']['solve']:.2g} s")
for name, (mean, cov) in (("solve", of_solve), ("smooth --method blocktri", of_smooth)):
    print(f"{name}: means within {mean:.1e} sd of the sequential smoother's, "
          f"covariances within {cov:.1e} of sd x sd")
print(f"log-likelihood {blocktri['loglik']:.9f}, sequential {sequential['loglik']:.9f}")
assert solved["relative_residual"] < 1e-14
assert max(of_solve + of_smooth) < 1e-8
assert abs(blocktri["loglik"] / sequential["loglik"] - 1) < 1e-10
