"""Write the golden cases: NAME.h5, a kalscan input file with the 50-digit results in /expected.

usage: make_golden.py [--out DIR] [NAME ...]      all cases by default, into this script's folder

Needs numpy, h5py and mpmath. README.md says what the attributes of /expected mean.
"""
import argparse
import os
import h5py
import mpmath as mp
import numpy as np
import models
import oracle

RANK = dict(F=2, Q=2, H=2, R=2, u=1, d=1, m0=1, P0=2)
PER_STEP = "FQHRud"


def of_series(settings, b):
    """The model of series b as the oracle wants it."""
    out = {k: settings[k] for k in RANK if k in settings}
    for k, a in out.items():
        if a.ndim == RANK[k] + (2 if k in PER_STEP else 1):
            out[k] = a[b]
    return dict(out, prior=settings["prior"])


def root(P):
    w, V = np.linalg.eigh(P)
    return V * np.sqrt(np.maximum(w, 0))


def simulate(rng, T, m):
    """Observations of the model. The first state is drawn near m0 even when P0 is vague."""
    at = {k: (lambda k, a=a, n=RANK[k]: a[k] if a.ndim > n else a)
          for k, a in m.items() if k in PER_STEP}
    P0 = m["P0"] / max(1.0, np.max(m["P0"]))
    nx, ny = len(m["m0"]), m["R"].shape[-1]
    x, y = m["m0"] + root(P0) @ rng.normal(size=nx), np.zeros((T, ny))
    for k in range(T):
        if k or m["prior"] == "x0":
            x = at["F"](k) @ x + root(at["Q"](k)) @ rng.normal(size=nx)
            x = x + (at["u"](k) if "u" in at else 0)
        y[k] = at["H"](k) @ x + root(at["R"](k)) @ rng.normal(size=ny)
        y[k] += at["d"](k) if "d" in at else 0
    return models.f32(y)


def blank(rng, y, b, entries=0.0, rows=(), last=None):
    """Make entries missing: a share of them, whole rows, all rows after the last of series b."""
    y[rng.random(y.shape) < entries] = np.nan
    y[list(rows)] = np.nan
    if last:
        y[last[b]:] = np.nan


def element_pivot(y, m):
    """How far the covariances H Q H' + R of the scans' elements are from singular, from the second
    step on: the smallest pivot relative to its diagonal entry; 0 where one is singular."""
    s, least = oracle.Steps(y, **m), 1.0
    for k in range(1, s.T):
        i, H, R, _ = s.observed(k)
        S = H @ s.at("Q", k) @ H.T + R
        try:
            L = oracle.cholesky(S)
        except ValueError:
            return 0.0
        least = min([least] + [float(L[j, j] ** 2 / S[j, j]) for j in range(len(i))])
    return least


def perturbed(rng, a, step, congruence):
    """Change every entry of `a` by about `step` relative; covariances stay semidefinite."""
    if congruence:
        e = oracle.exact(1 + step / 2 * rng.uniform(-1, 1, size=a.shape[:-1]))
        return oracle.exact(a) * e[..., :, None] * e[..., None, :]
    return oracle.exact(a) * oracle.exact(1 + step * rng.uniform(-1, 1, size=a.shape))


def deviations(P, floor, per_state):
    sd = np.sqrt(np.maximum(np.einsum("...ii->...i", P), 0))
    return np.maximum(sd, floor * np.maximum(sd.max(0) if per_state else sd.max(), 1e-300))


def sensitivity(rng, y, m, exact, per_state):
    """By how much the smoothed results move, in posterior standard deviations, when every number
    of the model changes by one unit in the last place of a double."""
    step = 2.0 ** -52
    moved = oracle.estimate(y, **{
        k: a if k == "prior" else perturbed(rng, a, step, k in ("Q", "R", "P0"))
        for k, a in m.items()})
    sd = deviations(exact["smoothed_cov"], 1e-4, per_state)
    mean = np.abs(moved["smoothed_mean"] - exact["smoothed_mean"]) / sd
    cov = np.abs(moved["smoothed_cov"] - exact["smoothed_cov"]) / (sd[:, :, None] * sd[:, None])
    return max(mean.max(), cov.max())


def put(group, key, a):
    """Store numbers, the many compressed."""
    a = np.asarray(a, float)
    keep = dict(chunks=a.shape, compression=9, shuffle=True) if a.size > 64 else {}
    group.create_dataset(key, data=a, **keep)


def write(path, name, condition, settings, y, expected, attributes):
    with h5py.File(path, "w", libver=("v110", "v110"), track_order=False) as f:
        put(f, "y", y)
        for k in RANK:
            if k in settings:
                put(f.require_group("model"), k, settings[k])
        f["model"].attrs["prior"] = settings["prior"]
        for k, a in expected.items():
            put(f.require_group("expected"), k, a)
        f.attrs["title"] = "kalscan golden case " + name
        f.attrs["generator"] = (f"tests/golden/make_golden.py, mpmath {mp.__version__} with "
                                f"{mp.mp.dps} digits, seed {models.SEED}")
        f["expected"].attrs["condition"] = condition
        for k, v in attributes.items():
            f["expected"].attrs[k] = v


def observations(name, settings):
    rng = models.generator(name + "/y")
    if "y" in settings:
        return np.array(settings["y"], float)
    y = np.array([simulate(rng, settings["T"], of_series(settings, b))
                  for b in range(settings["series"] or 1)])
    for b, series in enumerate(y):
        blank(rng, series, b, **settings.get("missing", {}))
    return y if settings["series"] else y[0]


def make(path, name, condition, settings):
    y = observations(name, settings)
    series = y if y.ndim == 3 else y[None]
    rng, per_state = models.generator(name + "/perturb"), settings.get("floor") == "state"
    results, pivot, sensed = [], 1.0, 0.0
    for b, yb in enumerate(series):
        m = of_series(settings, b)
        results.append(oracle.estimate(yb, **m))
        pivot = min(pivot, element_pivot(yb, m))
        sensed = max(sensed, sensitivity(rng, yb, m, results[-1], per_state))
    expected = {k: np.array([r[k] for r in results]) if y.ndim == 3 else results[0][k]
                for k in results[0]}
    inputs = [y] + [settings[k] for k in RANK if k in settings]
    exact = all(np.array_equal(models.f32(a), a, equal_nan=True) for a in inputs)
    write(path, name, condition, settings, y, expected, dict(
        scan_takes=np.int32(pivot > 0), element_pivot=pivot, sensitivity=sensed,
        f32_exact=np.int32(exact), floor_per_state=np.int32(per_state)))
    print(f"{name:30s} {condition:9s} scan {pivot:8.1e} sensitivity {sensed:8.1e} "
          f"f32 {exact:d} {os.path.getsize(path):7d} bytes", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)))
    parser.add_argument("names", nargs="*")
    a = parser.parse_args()
    for name, condition, settings in models.cases():
        if not a.names or name in a.names:
            make(os.path.join(a.out, name + ".h5"), name, condition, settings)


if __name__ == "__main__":
    main()
