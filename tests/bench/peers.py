"""Kalman filters and smoothers of Python packages on the kinds of model that `kalscan bench` times: random,
stable, constant, dense; or, with --arma, ARMA(NX, NX - 1) observed without noise, with a fraction of entries
missing, by statsmodels alone. Prints a list of JSON objects with nanoseconds per step. A package that is not
installed is left out. usage: peers.py NX,NY... [--arma FRACTION] [--quick]"""
import argparse
import json
import sys
import time

import numpy as np


def model(nx, ny, T, seed=1):
    rng = np.random.default_rng(seed)

    def covariance(n, scale):
        G = rng.uniform(-0.5, 0.5, (n, n))
        return scale * (G @ G.T / n + 0.1 * np.eye(n))

    return dict(F=0.9 * np.eye(nx) + rng.uniform(-0.2, 0.2, (nx, nx)) / nx, Q=covariance(nx, 1),
                H=np.eye(ny, nx) + rng.uniform(-0.2, 0.2, (ny, nx)), R=covariance(ny, 2),
                m0=rng.uniform(-0.5, 0.5, nx), P0=covariance(nx, 1),
                y=rng.uniform(-2, 2, (T, ny)))


def arma(nx, missing, T, seed=1):
    rng = np.random.default_rng(seed)

    def recursion(n):
        draw = rng.uniform(-0.5, 0.5, n)
        return 0.9 * draw / max(np.abs(draw).sum(), 1e-300)

    F, theta = np.eye(nx, k=1), np.concatenate([[1], recursion(nx - 1)])
    F[:, 0] = recursion(nx)
    y = rng.uniform(-2, 2, (T, 1))
    y[rng.uniform(size=y.shape) < missing] = np.nan
    return dict(F=F, Q=np.outer(theta, theta), H=np.eye(1, nx), R=np.zeros((1, 1)), m0=np.zeros(nx),
                P0=np.eye(nx), y=y)


def median_ns(run, T, quick):
    """Per step; the first run is not counted."""
    samples = []
    run()
    for _ in range(3 if quick else 9):
        start = time.perf_counter()
        run()
        samples.append(time.perf_counter() - start)
    return 1e9 * sorted(samples)[len(samples) // 2] / T


def statsmodels_runs(m):
    import statsmodels
    from statsmodels.tsa.statespace.kalman_smoother import KalmanSmoother
    (nx, ny), T = m["H"].shape[::-1], len(m["y"])
    smoother = KalmanSmoother(ny, nx)
    smoother.bind(np.asfortranarray(m["y"].T))
    for name, value in (("design", m["H"]), ("obs_cov", m["R"]), ("transition", m["F"]),
                        ("selection", np.eye(nx)), ("state_cov", m["Q"])):
        smoother[name] = value
    smoother.initialize_known(m["F"] @ m["m0"], m["F"] @ m["P0"] @ m["F"].T + m["Q"])
    return statsmodels.__version__, T, smoother.filter, smoother.smooth


def filterpy_runs(m):
    import filterpy
    from filterpy.kalman import KalmanFilter
    (nx, ny), T = m["H"].shape[::-1], 200
    kf = KalmanFilter(dim_x=nx, dim_z=ny)
    kf.F, kf.Q, kf.H, kf.R = m["F"], m["Q"], m["H"], m["R"]

    def filter_run():
        kf.x, kf.P = m["m0"][:, None].copy(), m["P0"].copy()
        return kf.batch_filter(list(m["y"][:T, :, None]))

    def smooth_run():
        means, covariances, _, _ = filter_run()
        return kf.rts_smoother(means, covariances)

    return filterpy.__version__, T, filter_run, smooth_run


def dynamax_runs(m):
    import os
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
    import jax
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    import dynamax
    from dynamax.linear_gaussian_ssm import inference as lg
    nx, ny = m["H"].shape[::-1]
    make = lambda: lg.ParamsLGSSM(
        initial=lg.ParamsLGSSMInitial(mean=m["m0"], cov=m["P0"]),
        dynamics=lg.ParamsLGSSMDynamics(weights=m["F"], bias=np.zeros(nx),
                                        input_weights=np.zeros((nx, 0)), cov=m["Q"]),
        emissions=lg.ParamsLGSSMEmissions(weights=m["H"], bias=np.zeros(ny),
                                          input_weights=np.zeros((ny, 0)), cov=m["R"]))
    params, y = jax.tree_util.tree_map(jax.numpy.asarray, make()), jax.numpy.asarray(m["y"])
    filter_run, smooth_run = jax.jit(lg.lgssm_filter), jax.jit(lg.lgssm_smoother)
    wait = jax.block_until_ready
    version = getattr(dynamax, "__version__", "?")
    return (version, len(m["y"]), lambda: wait(filter_run(params, y)),
            lambda: wait(smooth_run(params, y)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split(":", maxsplit=1)[0])
    parser.add_argument("sizes", nargs="+")
    parser.add_argument("--arma", type=float)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    quick, missing = arguments.quick, arguments.arma
    peers = [("statsmodels", statsmodels_runs), ("filterpy", filterpy_runs), ("dynamax", dynamax_runs)]
    results = []
    for nx, ny in (map(int, size.split(",")) for size in arguments.sizes):
        T = 2000 if quick else 20000 if nx < 16 else 4000
        for peer, runs in peers if missing is None else peers[:1]:
            try:
                version, steps, filter_run, smooth_run = runs(model(nx, ny, T) if missing is None
                                                              else arma(nx, missing, T))
            except ImportError:
                continue
            results.append(dict(peer=peer, version=version, nx=nx, ny=ny, T=steps,
                                model="dense" if missing is None else "arma", missing=missing or 0,
                                filter_ns=median_ns(filter_run, steps, quick),
                                smooth_ns=median_ns(smooth_run, steps, quick)))
    json.dump(results, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
