"""Write the golden cases of gradients: gradient/NAME.h5, a kalscan input file with the derivatives of its
log-likelihood by every number of the model in /expected.

usage: make_gradient.py [--out DIR] [NAME ...]      all cases by default, into gradient/ here

A derivative is what the definition says: one number of a dataset, as it stands in the file, is moved up and down, the
log-likelihood of all series is computed with the filter of make_diffuse.py, and the difference is divided by the
distance. With steps of 1e-25 of an array's largest entry and 80 digits some 45 digits of it are right. Two entries of
Q, R or P0 that mirror each other are moved together, each by half. The joint Gaussian of states and observations,
another route to the log-likelihood, must have the same slope in a direction drawn for each case, in which every number
of the model moves.

Of a diffuse prior the log-likelihood is the limit of log p(y) + r/2 log kappa, where r is the rank of P0_inf: y tells
all of its directions. The filter takes kappa = 1e90, in 350 digits; what is left of 1/kappa lies far behind the digits
of a double. In the joint Gaussian the diffuse directions have a flat prior and there is no kappa. P0_inf itself does
not move.

Needs numpy, h5py and mpmath. README.md says what stands in the files.
"""
import argparse
import os
import sys
import h5py
import mpmath as mp
import numpy as np
import make_diffuse
import make_golden
import models
import oracle
from make_diffuse import RANK, blanked
from make_golden import PER_STEP, put
from models import f32

DIGITS, DIFFUSE_DIGITS = 80, mp.mp.dps      # make_diffuse sets the latter
KAPPA = make_diffuse.KAPPAS[1]
STEP = mp.mpf(10) ** -25
AGREE = mp.mpf(10) ** -30       # relative difference allowed between the two routes
COVARIANCES = ("Q", "R", "P0")
INFINITE = {"P0_inf", "P0_inf_diag"}        # what no derivative is taken by


# ---- from the datasets of a file to the log-likelihood

def length(arrays, name):
    """The number of rows of a square block, nx of F and ny of R."""
    a = arrays.get(name, arrays.get(name + "_diag"))
    return a.shape[-1] if a.ndim else 1


def of_series(arrays, attributes, T, b):
    """The model of series b as the oracle takes it: matrices for diagonals, rows that lead into their step."""
    out, columns = {}, dict(u=length(arrays, "F"), m0=length(arrays, "F"), d=length(arrays, "R"))
    for key, a in arrays.items():
        name, diagonal = key.removesuffix("_diag"), key.endswith("_diag")
        if a.ndim == 0:
            a = a.reshape((1,) * (1 if diagonal else RANK[name]))
        elif a.shape == (columns.get(name), 1):
            a = a[:, 0]
        if diagonal:
            a = a[..., None] * np.eye(a.shape[-1], dtype=int)
        elif RANK[name] == 2 and attributes.get("layout") == "fortran":
            a = np.swapaxes(a, -1, -2)
        if a.ndim == RANK[name] + (2 if name in PER_STEP else 1):
            a = a[b if len(a) > 1 else 0]
        if a.ndim > RANK[name]:
            if len(a) == 1:
                a = a[0]
            elif name in "FQu" and attributes.get("transition") == "out-of":
                a = np.concatenate([a[:1], a[:T - 1]])      # under prior x1 nothing leads into step 0
        out[name] = a
    n = length(arrays, "F")
    absent = dict(m0=np.zeros(n), P0=np.zeros((n, n))) if INFINITE & arrays.keys() else {}
    return dict(absent | out, prior=attributes["prior"])


def in_series(y):
    """The observations with all their axes, (B, T, ny)."""
    return y.reshape((1, -1, 1) if y.ndim == 1 else (-1, *y.shape[-2:]))


def each_series(y, arrays, attributes):
    """Observations and model of each, where need be with an infinite part of the prior that is zero."""
    for b, of_b in enumerate(in_series(y)):
        model = of_series(arrays, attributes, len(of_b), b)
        yield of_b, dict(P0_inf=oracle.zeros(*np.shape(model["P0"]))) | model


def by_filter(y, arrays, attributes):
    """The log-likelihoods of the series."""
    out = []
    for of_b, model in each_series(y, arrays, attributes):
        rank = make_diffuse.half(oracle.exact(model["P0_inf"])).shape[1]
        out.append(sum(make_diffuse.at_kappa(of_b, model, KAPPA)["loglik_terms"]) + rank * mp.log(KAPPA) / 2)
    return out


def by_joint_gaussian(y, arrays, attributes):
    return [make_diffuse.least_squares(of_b, model)["loglik"].item()
            for of_b, model in each_series(y, arrays, attributes)]


# ---- derivatives

def without(model, *keys):
    return {k: a for k, a in model.items() if k not in keys}


def slope(route, y, arrays, attributes, direction):
    """How fast the log-likelihood of all series changes where the arrays move in the direction."""
    ends = []
    for step in (STEP, -STEP):
        moved = {k: np.asarray(arrays[k] + step * v) for k, v in direction.items()}
        ends.append(sum(route(y, arrays | moved, attributes)))
    return (ends[0] - ends[1]) / (2 * STEP)


def mirrored(key, i):
    """The index of the entry that equals the entry i because a covariance is symmetric."""
    return (*i[:-2], i[-1], i[-2]) if key in COVARIANCES and len(i) > 1 else i


def size_of(a):
    """The largest entry, by which steps are measured: units may be small."""
    return mp.mpf(float(np.max(np.abs(np.asarray(a, float))))) or mp.mpf(1)


def gradient(y, arrays, attributes):
    moving = without(arrays, *INFINITE)
    out = {key: oracle.zeros(*a.shape) for key, a in moving.items()}
    for key, a in moving.items():
        for i in np.ndindex(a.shape):
            other = mirrored(key, i)
            if other >= i:
                unit = oracle.zeros(*a.shape)
                for of_pair in (i, other):
                    unit[of_pair] += size_of(a) / 2
                out[key][i] = out[key][other] = slope(by_filter, y, arrays, attributes, {key: unit}) / size_of(a)
    return out


def drawn_direction(rng, arrays):
    out = {}
    for key, a in without(arrays, *INFINITE).items():
        v = np.asarray(oracle.exact(rng.normal(size=a.shape)) * size_of(a))
        for i in np.ndindex(a.shape):
            v[i] = v[mirrored(key, i)]
        out[key] = v
    return out


def require(what, a, b):
    if abs(a - b) > AGREE * max(1, abs(a), abs(b)):
        raise ValueError(f"{what}: {mp.nstr(a, 40)} and {mp.nstr(b, 40)}")


def results(name, y, arrays, attributes):
    arrays = {k: oracle.exact(a) for k, a in arrays.items()}
    loglik, found = by_filter(y, arrays, attributes), gradient(y, arrays, attributes)
    for b, other in enumerate(by_joint_gaussian(y, arrays, attributes)):
        require(f"{name}, log-likelihood of series {b}", loglik[b], other)
    direction = drawn_direction(models.generator(f"gradient_{name}/direction"), arrays)
    require(f"{name}, slope", sum(np.sum(found[k] * v) for k, v in direction.items()),
            slope(by_joint_gaussian, y, arrays, attributes, direction))
    return np.array(loglik) if y.ndim == 3 else np.array(loglik[0]), found


# ---- the cases: the datasets of /model and its attributes, and what is to be known of y

def random(name, T, nx, ny, varying="", x1=False, **more):
    """A random model with offsets, and a generator for what else is drawn."""
    rng = models.generator("gradient_" + name)
    m = models.random_model(rng, T, nx, ny, varying, x1, **more)
    model = {k: m[k] for k in (*RANK, "prior") if k in m}
    for key, n in (("u", nx), ("d", ny)):
        model.setdefault(key, rng.normal(size=n))
    return rng, model


def usual_cases():
    yield "constant_x0", random("constant_x0", 7, 3, 2)[1], dict(T=7)
    yield "constant_x1", random("constant_x1", 6, 2, 3, "", True)[1], dict(T=6, missing=blanked(6, 3, 2))
    yield "varying_x0", random("varying_x0", 5, 3, 2, "FQHRud")[1], dict(T=5)
    yield "varying_x1", random("varying_x1", 6, 2, 3, "FQHRud", True)[1], dict(
        T=6, missing=blanked(6, 3, 4, entries=[(0, 1), (1, 0), (1, 2)]))
    yield "missing", random("missing", 9, 3, 3)[1], dict(
        T=9, missing=blanked(9, 3, 0, 4, 5, 8, entries=[(1, 0), (2, 1), (2, 2), (6, 2)]))
    yield "nothing_observed", random("nothing_observed", 3, 2, 2, "QHR")[1], dict(T=3, missing=blanked(3, 2, 0, 1, 2))
    yield "one_step_x0", random("one_step_x0", 1, 3, 2)[1], dict(T=1)
    yield "one_step_x1", dict(F=0.75, Q=0.5, u=0.25, H=1.5, R=0.5, d=-0.5, m0=2.0, P0=1.25, prior="x1"), dict(
        T=1, flat=True)


def transition_cases():
    """Under "out-of" F, Q and u have T - 1 rows, or T of which the last leads nowhere."""
    rng, model = random("out_of", 6, 2, 1, "H", True)
    yield "out_of", dict(model, F=models.rotation(rng, 2, (5,)), Q=models.spd(rng, 2, 1.0, (5,)),
                         u=rng.normal(size=(5, 2)), transition="out-of"), dict(T=6)
    rng, model = random("out_of_last_row", 5, 3, 2, "", True)
    yield "out_of_last_row", dict(without(model, "Q"), F=models.rotation(rng, 3, (5,)),
                                  Q_diag=rng.uniform(0.25, 2, size=(4, 3)), transition="out-of"), dict(
        T=5, missing=blanked(5, 2, entries=[(3, 0)]))


def covariance_cases():
    rng, model = random("diagonals", 6, 3, 2)
    diagonals = dict(without(model, "Q", "R", "P0"), Q_diag=[0.5, 1, 0.25], R_diag=[0.75, 2], P0_diag=[4.0, 1, 2])
    yield "diagonals", diagonals, dict(T=6)
    rng, model = random("diagonals_varying", 5, 2, 3, "", True)
    yield "diagonals_varying", dict(without(model, "Q", "R"), Q_diag=rng.uniform(0.25, 2, size=(5, 2)),
                                    R_diag=rng.uniform(0.25, 2, size=(5, 3))), dict(
        T=5, missing=blanked(5, 3, 3, entries=[(1, 2)]))
    rank_one = [0.5, 1, -0.25]
    yield "Q_rank_one_P0_zero", dict(random("rank_one", 6, 3, 2)[1], Q=np.outer(rank_one, rank_one),
                                     P0=np.zeros((3, 3))), dict(T=6)
    yield "Q_zero_P0_singular", dict(random("Q_zero", 6, 3, 2, "", True)[1], Q=np.zeros((3, 3)),
                                     P0=np.diag([1.0, 0, 0.5])), dict(T=6)
    yield "observed_exactly", dict(random("observed_exactly", 6, 3, 2)[1], R=np.diag([0, 0.5])), dict(T=6)
    # Two positions that all but keep their speed, their observations strongly correlated.
    F = np.kron(np.eye(2), [[1, 0.5], [0, 0.998046875]]) + np.outer([0, 1, 0, 0], [0, 0, 0, 0.0078125])
    yield "near_unit_root", dict(
        F=F, Q=np.kron([[1.0, 0.25], [0.25, 0.5]], [[0.015625, 0.03125], [0.03125, 0.125]]),
        H=np.kron(np.eye(2), [1, 0]), R=[[1.0, 0.75], [0.75, 2]], m0=[4.0, 1, -8, 0.5], P0=8 * np.eye(4),
        prior="x0"), dict(T=9, missing=blanked(9, 2, 5, entries=[(6, 1)]))
    yield "far_from_zero", dict(F=[[1.0, 1], [0, 0.9375]], Q=[[0.5, 0.125], [0.125, 0.25]], H=[[1.0, 0]], R=2.0,
                                d=[-4096.0], m0=[8192.0, 3], P0=4 * np.eye(2), prior="x1"), dict(T=8, flat=True)


def series_cases():
    missing = [blanked(5, 2, entries=[(1, 0)]), blanked(5, 2, 3, 4), blanked(5, 2, 0)]
    yield "series_shared", random("series_shared", 5, 2, 2)[1], dict(T=5, series=3, missing=np.array(missing))
    yield "series_own", random("series_own", 4, 2, 2, "", True, series=2, per_series=True)[1], dict(T=4, series=2)
    rng, model = random("series_mixed", 4, 2, 2)
    mixed = dict(without(model, "u", "Q"), F=models.rotation(rng, 2, (1, 4)), Q_diag=rng.uniform(0.25, 2, (2, 1, 2)),
                 R=models.spd(rng, 2, 1.0, (2, 4)), d=rng.normal(size=(2, 1, 2)), m0=rng.normal(size=(2, 2)))
    yield "series_mixed", mixed, dict(T=4, series=2, missing=np.array([blanked(4, 2, 2), blanked(4, 2)]))


def form_cases():
    rng, model = random("fortran", 4, 3, 2, "FQu", True)
    model.update(F=np.swapaxes(model["F"], 1, 2), H=model["H"].T, layout="fortran")
    yield "fortran", model, dict(T=4, missing=blanked(4, 2, entries=[(2, 1)]))
    rng, model = random("forms", 5, 3, 2)
    model = dict(without(model, "P0"), F=np.array([[[1, 1, 0], [0, 1, -1], [0, 1, 0]]], "i4"),
                 H=np.array(model["H"], "f4"), u=model["u"][:, None], d=model["d"][None, None],
                 m0=model["m0"][None], P0_diag=[[1, 2, 0.5]])
    yield "forms", model, dict(T=5)


def level_of(P0_inf, **more):
    return dict(F=1.0, Q=1469.0, H=1.0, R=15099.0, P0_inf=P0_inf, **more)


def trend_of(level, slope, H, R, **more):
    return dict(F=[[1.0, 1], [0, 1]], Q=[[level, slope / 2], [slope / 2, slope]], H=H, R=R, **more)


def diffuse_structural_cases():
    for prior in ("x0", "x1"):
        yield "diffuse_level_" + prior, level_of(1.0, prior=prior), dict(T=6, flat=True, start=[1120.0])
    trend = trend_of(0.5, 0.25, [[1.0, 0]], 2.0, P0_inf=np.eye(2), prior="x1")
    yield "diffuse_trend", trend, dict(T=7, start=[10.0, 0.5])
    yield "diffuse_first_missing", dict(trend, prior="x0"), dict(T=9, start=[-4.0, 1], missing=blanked(9, 1, 0, 1, 3))
    # Both gauges see the level alone: the first row of y tells one direction, the slope is told by the next.
    gauges = trend_of(0.5, 0.25, [[1.0, 0], [2, 0]], [[1.0, 0.75], [0.75, 2]], P0_inf_diag=[1.0, 4], prior="x1")
    yield "diffuse_gauges", gauges, dict(
        T=7, start=[2.0, 1], missing=blanked(7, 2, 4, entries=[(1, 0), (3, 1)]))
    F = np.zeros((4, 4))
    F[0, 0] = F[2, 1] = F[3, 2] = 1
    F[1, 1:] = -1
    yield "diffuse_seasonal", dict(F=F, Q_diag=[0.5, 0.25, 0, 0], H=[[1.0, 1, 0, 0]], R=0.0, P0_inf_diag=np.ones(4),
                                   prior="x1"), dict(T=10, start=[20.0, 3, -1, -4])
    # Of a constant H the derivative were a small sum of large terms, since any level is as likely.
    yield "diffuse_far_from_zero", dict(
        trend_of(256.0, 16.0, np.tile([1.0, 0], (8, 1, 1)), 1024.0, P0_inf=np.eye(2), prior="x1"), u=[4.0, -0.5]
    ), dict(T=8, start=[100000.0, 30])


def diffuse_general_cases():
    yield "diffuse_rank_one", dict(
        random("diffuse_rank_one", 6, 2, 1)[1], m0=[1.0, -2], P0=[[0.5, 0.25], [0.25, 1]], P0_inf=[[1.0, 2], [2, 4]]
    ), dict(T=6, flat=True)
    yield "diffuse_one_of_two", dict(
        F=[[1.0, 0], [0, 0.75]], Q_diag=[0.25, 1], H=[[1.0, 1], [0.5, -1]], R_diag=[0.5, 1], m0=[0, 0.5],
        P0_diag=[0, 2.25], P0_inf_diag=[1.0, 0], prior="x0"), dict(T=6, start=[8.0, 0], missing=blanked(6, 2, 2))
    two = np.array([[1.0, 0], [2, 1], [-1, 0.5]])
    yield "diffuse_varying", dict(random("diffuse_varying", 5, 3, 2, "FQHRud")[1], P0_inf=two @ two.T), dict(
        T=5, missing=blanked(5, 2, entries=[(0, 1), (3, 0)]))
    # P0_inf leaves nothing to P0: m0 and P0 do not matter in the limit.
    rng, model = random("diffuse_out_of", 6, 3, 2, "", True)
    yield "diffuse_out_of", dict(model, F=models.rotation(rng, 3, (5,)), Q=models.spd(rng, 3, 1.0, (5,)),
                                 u=rng.normal(size=(5, 3)), P0_inf=[[1.0, 1, 0], [1, 2, 1], [0, 1, 2]],
                                 transition="out-of"), dict(T=6, missing=blanked(6, 2, 1, entries=[(4, 1)]))


def diffuse_series_cases():
    missing = np.array([blanked(6, 2, 3), blanked(6, 2, 0, entries=[(1, 1)])])
    yield "diffuse_series", dict(random("diffuse_series", 6, 2, 2, "", True, series=2, per_series=True)[1],
                                 P0_inf=np.diag([1.0, 0])), dict(T=6, series=2, missing=missing)
    # The directions differ from series to series, and the last one has none.
    missing = np.array([blanked(6, 1, *rows) for rows in ((), (0, 1), (5,), (2,))])
    own = trend_of(0.5, 0.25, [[1.0, 0]], 1.0, m0=[1.0, 0.5], P0=[[0.25, 0.125], [0.125, 0.5]],
                   P0_inf_diag=[[1.0, 1], [2, 0.5], [1, 0], [0, 0]], prior="x0")
    yield "diffuse_series_own", own, dict(T=6, series=4, missing=missing)


def diffuse_hard_cases():
    # The slope alone is diffuse, which no observation sees at first, and all is in small units.
    unit = 2.0 ** -27
    yield "diffuse_small_units", trend_of(0.5 * unit**2, 0.25 * unit**2, [[1.0, 0]], 2 * unit**2, P0_inf_diag=[0.0, 1],
                                          P0_diag=[4 * unit**2, 0], m0=[0.0, 0], prior="x1"
                                          ), dict(T=9, start=[unit, 2 * unit])
    # The first observation tells next to nothing of the coefficient of a regressor.
    regressor = [1e-6, 1, -0.5, 2, 0.25, -1, 1.5, 1, -2]
    yield "diffuse_regressor", dict(F=[[0.75, 0], [0, 1]], Q_diag=[0.5, 0], H=[[[1, z]] for z in regressor], R=2.0,
                                    P0_diag=[1.0, 0], m0=[0.0, 0], P0_inf_diag=[0.0, 1], prior="x1"
                                    ), dict(T=9, start=[0.0, 3])
    # One entry a step tells seven states, the first after three steps: nearly the same directions again and again.
    yield "diffuse_seven", dict(random("diffuse_seven", 14, 7, 1)[1], P0_inf=np.eye(7)), dict(
        T=14, start=np.arange(7.0), missing=blanked(14, 1, 0, 1, 2))


def cases():
    for family in (usual_cases, transition_cases, covariance_cases, series_cases, form_cases, diffuse_structural_cases,
                   diffuse_general_cases, diffuse_series_cases, diffuse_hard_cases):
        for name, model, settings in family():
            attributes = {k: a for k, a in model.items() if isinstance(a, str)}
            arrays = {k: np.asarray(a) for k, a in model.items() if k not in attributes}
            yield name, {k: f32(a) if a.dtype == float else a for k, a in arrays.items()}, attributes, settings


def observations(name, arrays, attributes, settings):
    rng, T = models.generator(f"gradient_{name}/y"), settings["T"]
    start = {}
    if "start" in settings:     # the first state, where the prior tells little of it
        start = dict(m0=np.array(settings["start"]), P0=np.zeros((len(settings["start"]),) * 2))
    y = np.array([make_golden.simulate(rng, T, of_series(arrays, attributes, T, b) | start)
                  for b in range(settings.get("series", 1))])
    y = y.reshape(T) if settings.get("flat") else y if "series" in settings else y[0]
    y[settings.get("missing", np.zeros(y.shape, bool))] = np.nan
    return y


# ---- files

def digits(arrays):
    return DIFFUSE_DIGITS if INFINITE & arrays.keys() else DIGITS


def write(path, name, arrays, attributes, y, loglik, found):
    with h5py.File(path, "w", libver=("v110", "v110"), track_order=False) as f:
        put(f, "y", y)
        for key, a in arrays.items():
            if a.dtype == float:
                put(f.require_group("model"), key, a)
            else:
                f["model/" + key] = a
        f["model"].attrs.update(attributes)
        put(f.require_group("expected"), "loglik", oracle.doubles(loglik))
        for key, a in found.items():
            put(f["expected"].require_group("gradient"), key, oracle.doubles(a))
        f.attrs["title"] = "kalscan golden case gradient/" + name
        f.attrs["generator"] = (f"tests/golden/make_gradient.py, mpmath {mp.__version__} with {digits(arrays)} digits, "
                                f"seed {models.SEED}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "gradient"))
    parser.add_argument("names", nargs="*")
    a = parser.parse_args()
    os.makedirs(a.out, exist_ok=True)
    for name, arrays, attributes, settings in cases():
        if not a.names or name in a.names:
            path, y = os.path.join(a.out, f"{name}.h5"), observations(name, arrays, attributes, settings)
            with mp.workdps(digits(arrays)):
                loglik, found = results(name, y, arrays, attributes)
            write(path, name, arrays, attributes, y, loglik, found)
            print(f"{name:22s} {sum(v.size for v in found.values()):4d} derivatives, the largest "
                  f"{max(abs(oracle.doubles(v)).max() for v in found.values()):9.3g} {os.path.getsize(path):7d} bytes",
                  flush=True)


if __name__ == "__main__":
    sys.exit(main())
