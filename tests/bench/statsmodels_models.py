"""Models of statsmodels, as it writes them in state-space form, by statsmodels and by the command, with files: nanoseconds
per step of one run after another, and by how much the smoothed means differ. Prints a list of JSON objects, an empty one
without statsmodels or h5py. usage: statsmodels_models.py KALSCAN [--quick]"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np


def sarimax(order, seasonal_order):
    def make(sm, rng, T):
        model = sm.tsa.SARIMAX(np.cumsum(rng.normal(size=T)), order=order, seasonal_order=seasonal_order)
        return model, [1.0 if name == "sigma2" else -0.4 if "ma." in name else
                       0.5 if "L1" in name or ".S." in name else -0.2 for name in model.param_names]
    return f"SARIMAX {order} {seasonal_order}".replace(",)", ")"), make


def structural(name, **components):
    def make(sm, rng, T):
        model = sm.tsa.UnobservedComponents(np.cumsum(rng.normal(size=T)), **components)
        return model, [0.3] * len(model.param_names)
    return name, make


def lags_of(names, others):
    """Autoregressions that forget, the first lag more than others."""
    return [others if not name.startswith("L") else 0.15 if name.startswith("L1") else 0.05 for name in names]


def vectors(name, order, entries):
    def make(sm, rng, T):
        model = sm.tsa.VARMAX(rng.normal(size=(T, entries)), order=order, trend="n")
        return model, [1.0 if "sqrt.var" in name else value
                       for name, value in zip(model.param_names, lags_of(model.param_names, 0.3))]
    return name, make


def factors(name, entries, **orders):
    def make(sm, rng, T):
        model = sm.tsa.DynamicFactor(rng.normal(size=(T, entries)), **orders)
        return model, [1.0 if "sigma2" in name else value
                       for name, value in zip(model.param_names, lags_of(model.param_names, 0.3))]
    return name, make


# Those above SARIMAX have noise in what is observed, the others none.
MODELS = [structural("level, slope, season of 12, irregular", level="lltrend", seasonal=12),
          structural("the same, season as 6 harmonics", level="lltrend", freq_seasonal=[{"period": 12, "harmonics": 6}]),
          factors("1 factor of 2 lags, 5 entries", 5, k_factors=1, factor_order=2),
          sarimax((1, 1, 1), (0, 1, 1, 4)),
          sarimax((2, 1, 2), (1, 0, 1, 12)),
          sarimax((0, 1, 1), (0, 1, 1, 12)),
          structural("smooth trend, season of 12", level="rtrend", seasonal=12),
          structural("drift, season as 6 harmonics", level="rwdrift", freq_seasonal=[{"period": 12, "harmonics": 6}]),
          vectors("VAR(2), 3 entries", (2, 0), 3),
          vectors("VARMA(1, 1), 3 entries", (1, 1), 3),
          factors("2 factors of 2 lags, 10 entries with AR(1)", 10, k_factors=2, factor_order=2, error_order=1)]


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


def compare(kalscan, folder, name, make, missing, T, repeats):
    import statsmodels.api as sm
    rng = np.random.default_rng(1)
    model, parameters = make(sm, rng, T)
    y = np.array(model.endog, dtype=float)  # with gaps, statsmodels takes the same system
    y[rng.uniform(size=y.shape) < missing] = np.nan
    system, n, variance = model.ssm, model.ssm.k_states, 1e6
    system.bind(y)
    model.update(np.array(parameters))
    system.initialize_approximate_diffuse(variance)
    path, out = str(folder / "in.h5"), str(folder / "out.h5")
    write(path, system, y, n, variance)
    result = dict(name=name, nx=n, ny=y.shape[1], missing=missing, T=T)
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
            for name, make in MODELS[3:4] if arguments.quick else MODELS:
                results.append(dict(compare(arguments.kalscan, pathlib.Path(folder), name, make, missing,
                                            2000 if arguments.quick else 20000, 3 if arguments.quick else 7),
                                    version=statsmodels.__version__))
    json.dump(results, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
