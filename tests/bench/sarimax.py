"""Seasonal ARIMA models of statsmodels, as it writes them in state-space form, by statsmodels and by the command, with
files: nanoseconds per step of one run after another, and by how much the smoothed means differ. Prints a list of JSON
objects, an empty one without statsmodels or h5py. usage: sarimax.py KALSCAN [--quick]"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np

# Order, seasonal order.
MODELS = [((1, 1, 1), (0, 1, 1, 4)), ((2, 1, 2), (1, 0, 1, 12)), ((0, 1, 1), (0, 1, 1, 12))]


def write(path, system, y, n, variance):
    """The system as a model file; its prior is that of the first observation."""
    import h5py
    selection = np.asarray(system["selection"])
    with h5py.File(path, "w") as f:
        f["y"] = y
        for name, value in (("F", system["transition"]), ("Q", selection @ system["state_cov"] @ selection.T),
                            ("H", system["design"]), ("R", system["obs_cov"]), ("m0", np.zeros(n)),
                            ("P0", variance * np.eye(n))):
            f["model/" + name] = value
        f["model"].attrs["prior"] = "x1"


def seconds(kalscan, job, path, out):
    """What the command has spent on computing, and its smoothed means."""
    import h5py
    done = subprocess.run([kalscan, job, path, "-o", out, "--force", "--threads", "1", "--json"], check=True,
                          capture_output=True, text=True)
    with h5py.File(out) as f:
        means = f["smoothed/mean"][:] if job == "smooth" else None
    return json.loads(done.stdout)["seconds"]["compute"], means


def compare(kalscan, folder, order, seasonal_order, missing, T, repeats):
    import statsmodels.api as sm
    rng = np.random.default_rng(1)
    y = np.cumsum(rng.normal(size=T))
    y[rng.uniform(size=T) < missing] = np.nan
    model = sm.tsa.SARIMAX(y, order=order, seasonal_order=seasonal_order)
    model.update(np.array([1.0 if name == "sigma2" else -0.4 if "ma." in name else 0.5 if "L1" in name or ".S." in name
                           else -0.2 for name in model.param_names]))
    system, n, variance = model.ssm, model.ssm.k_states, 1e6
    system.initialize_approximate_diffuse(variance)
    path, out = str(folder / "in.h5"), str(folder / "out.h5")
    write(path, system, y[:, None], n, variance)
    result = dict(order=order, seasonal_order=seasonal_order, nx=n, missing=missing, T=T)
    for job, run in (("filter", system.filter), ("smooth", system.smooth)):
        theirs, ours = [], []
        run()
        for _ in range(repeats):
            smoothed = None  # two of these at a time slow the second one down
            start = time.perf_counter()
            smoothed = run()
            theirs.append(time.perf_counter() - start)
            spent, means = seconds(kalscan, job, path, out)
            ours.append(spent)
        result[f"statsmodels_{job}_ns"] = 1e9 * float(np.median(theirs)) / T
        result[f"kalscan_{job}_ns"] = 1e9 * float(np.median(ours)) / T
    result["means_differ"] = float(np.abs(means - smoothed.smoothed_state.T).max())
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split(":", maxsplit=1)[0])
    parser.add_argument("kalscan")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    results = []
    try:
        import h5py  # noqa: F401
        import statsmodels
    except ImportError:
        print("[]")
        return
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        for missing in (0.0, 0.05):
            for order, seasonal_order in MODELS[:1] if arguments.quick else MODELS:
                results.append(dict(compare(arguments.kalscan, pathlib.Path(folder), order, seasonal_order, missing,
                                            2000 if arguments.quick else 20000, 3 if arguments.quick else 9),
                                    version=statsmodels.__version__))
    json.dump(results, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
