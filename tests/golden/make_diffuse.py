"""Write the golden cases of diffuse starts: diffuse/NAME.h5, a kalscan input file with its limits in /expected.

usage: make_diffuse.py [--out DIR] [NAME ...]      all cases by default, into diffuse/ here

The prior is N(m0, P0 + kappa P0_inf). Each case is estimated with the ordinary filter and smoother of oracle.py at two
finite values of kappa so large that what is left of 1/kappa lies far behind the digits of a double, in arithmetic that
bears the cancellation. What grows with kappa between the two is infinite; the rest must be the same for both.
Generalized least squares, in which there is no kappa, must give the same smoothed results and log-likelihood.

Needs numpy, h5py and mpmath. README.md says what stands in the files.
"""
import argparse
import os
import sys
import h5py
import mpmath as mp
import numpy as np
import make_golden
import make_published
import models
import oracle
from make_golden import put
from models import f32

mp.mp.dps = 350
KAPPAS = mp.mpf(10) ** 80, mp.mpf(10) ** 90
ZERO = mp.mpf(10) ** -60    # less is a zero of which 1/kappa is left; no number of a case is that small
AGREE = mp.mpf(10) ** -30   # relative difference allowed between the two values of kappa, and from least squares
RANK = dict(make_golden.RANK, P0_inf=2)
EPS, ETA = make_published.EPS, make_published.ETA
COVARIANCES = ("predicted_cov", "filtered_cov", "innovation_cov")
PATHS = dict(predicted_mean="predicted/mean", predicted_cov="predicted/cov", filtered_mean="filtered/mean",
             filtered_cov="filtered/cov", smoothed_mean="smoothed/mean", smoothed_cov="smoothed/cov",
             lag_one_cov="smoothed/lag_one_cov", prior_mean="smoothed/prior_mean", prior_cov="smoothed/prior_cov",
             innovation="innovations/residual", innovation_cov="innovations/cov",
             innovation_std="innovations/standardized", loglik="loglik", loglik_terms="loglik_terms")


# ---- the limits of one series

def cholesky(S):
    """Lower factor of S; its pivots may differ by powers of kappa, so only what round-off leaves is refused."""
    L = oracle.zeros(*S.shape)
    for j in range(len(S)):
        pivot = S[j, j] - sum(L[j, i] ** 2 for i in range(j))
        if pivot <= abs(S[j, j]) * mp.mpf(10) ** -250:
            raise ValueError(f"not positive definite: pivot {j} is {mp.nstr(pivot, 5)}")
        L[j, j] = mp.sqrt(pivot)
        for r in range(j + 1, len(S)):
            L[r, j] = (S[r, j] - sum(L[r, i] * L[j, i] for i in range(j))) / L[j, j]
    return L


def at_kappa(y, model, kappa):
    """What oracle.estimate has, with all digits, of the prior covariance P0 + kappa P0_inf."""
    s = oracle.Steps(y, **{k: a for k, a in model.items() if k != "P0_inf"})
    s.P0 = s.P0 + kappa * oracle.exact(model["P0_inf"])
    out = {k: [None] * s.T for k in oracle.NAMES}
    update, terms = [None] * s.T, [mp.mpf(0)] * s.T
    m, P = s.m0, s.P0
    for k in range(s.T):
        if k > 0 or s.prior == "x0":
            F = s.at("F", k)
            m, P = F @ m + s.at("u", k), oracle.symmetric(F @ P @ F.T) + s.at("Q", k)
        out["predicted_mean"][k], out["predicted_cov"][k] = m, P
        for name in ("innovation", "innovation_std"):
            out[name][k] = np.full(s.ny, mp.nan, dtype=object)
        out["innovation_cov"][k] = np.full((s.ny, s.ny), mp.nan, dtype=object)
        i, H, R, z = s.observed(k)
        if len(i):
            S, e = oracle.symmetric(H @ P @ H.T) + R, z - H @ m
            L = cholesky(S)
            G, f = oracle.forward_solve(L, H), oracle.forward_solve(L, e)
            out["innovation"][k][i], out["innovation_std"][k][i] = e, f
            out["innovation_cov"][k][np.ix_(i, i)] = S
            terms[k] = -(len(i) * mp.log(2 * mp.pi) + f @ f) / 2 - sum(mp.log(L[j, j]) for j in range(len(i)))
            PG = P @ G.T
            update[k] = G, f, np.eye(s.nx, dtype=int) - PG @ G
            m, P = m + PG @ f, oracle.symmetric(P - PG @ PG.T)
        out["filtered_mean"][k], out["filtered_cov"][k] = m, P
    oracle.backward(s, out, update)
    return dict({k: np.array(a) for k, a in out.items()}, loglik_terms=np.array(terms))


def same(a, b):
    return a == b or (mp.isnan(a) and mp.isnan(b)) or max(abs(a), abs(b)) < ZERO or (
        abs(a - b) <= AGREE * max(abs(a), abs(b)))


def require(name, a, b):
    for i in np.ndindex(a.shape):
        if not same(a[i], b[i]):
            raise ValueError(f"{name} {i}: {mp.nstr(a[i], 40)} and {mp.nstr(b[i], 40)}")


def without_residue(a):
    return np.array([mp.mpf(0) if abs(v) < ZERO else v for v in np.ravel(a)], dtype=object).reshape(a.shape)


def infinite_entries(a, b):
    """The signs of what grows with kappa, and 0 elsewhere. What grows so slowly beside the variances of its row and
    column that single precision could take it for a zero has no place in a case."""
    signs = np.zeros(a.shape)
    for k, rate in enumerate((b - a) / (KAPPAS[1] - KAPPAS[0])):
        for i, j in np.argwhere([[abs(v) > ZERO for v in row] for row in rate]):    # NaN is not
            if abs(rate[i, j]) < mp.mpf("1e-4") * mp.sqrt(rate[i, i] * rate[j, j]):
                raise ValueError(f"step {k}: a rate of {mp.nstr(rate[i, j], 5)} is neither zero nor clearly different")
            signs[k, i, j] = mp.sign(rate[i, j])
    return signs


def limits(y, model):
    """The results for kappa to infinity, with all digits; infinite entries of the covariances as such."""
    a, b = (at_kappa(y, model, kappa) for kappa in KAPPAS)
    for name in COVARIANCES:
        signs = infinite_entries(a[name], b[name])
        for of_kappa in (a, b):
            of_kappa[name][signs != 0] = [mp.inf * int(s) for s in signs[signs != 0]]
    for k, S in enumerate(a["innovation_cov"]):
        if any(mp.isinf(v) for v in np.ravel(S)):
            a["innovation_std"][k] = b["innovation_std"][k] = mp.nan
    apart, determined = mp.log(KAPPAS[1] / KAPPAS[0]), []
    for k, (one, other) in enumerate(zip(a["loglik_terms"], b["loglik_terms"])):
        determined.append(int(mp.nint(2 * (one - other) / apart)))
        for of_kappa, kappa in zip((a, b), KAPPAS):
            of_kappa["loglik_terms"][k] += determined[k] * mp.log(kappa) / 2
    rank = half(oracle.exact(model["P0_inf"])).shape[1]
    if sum(determined) != rank:
        raise ValueError(f"y determines {determined} of {rank} diffuse directions")
    if model["prior"] == "x1":
        for of_kappa in (a, b):
            del of_kappa["prior_mean"], of_kappa["prior_cov"]
    for name in a:
        require(name, a[name], b[name])
    out = {k: without_residue(v) for k, v in b.items()}
    out["loglik"] = np.array(sum(b["loglik_terms"]))
    return out, determined


# ---- generalized least squares

def half(P):
    """Columns B with B B' = P, a covariance of any rank, by Cholesky's method with pivoting."""
    P, columns = P.copy(), []
    while True:
        j = max(range(len(P)), key=lambda i: P[i, i])
        if P[j, j] <= ZERO:
            return np.array(columns, dtype=object).reshape(len(columns), len(P)).T
        columns.append(P[:, j] / mp.sqrt(P[j, j]))
        P = P - np.outer(columns[-1], columns[-1])


def least_squares(y, model):
    """Smoothed results and log-likelihood from the joint Gaussian of all states, x = mean + X delta + noise, where
    P0_inf = B B' and delta has a flat prior. The noise has the prior P0 + P0_inf: next to delta that is the same as P0,
    and the covariance V of y given delta is regular wherever innovation covariances are."""
    s = oracle.Steps(y, **{k: a for k, a in model.items() if k != "P0_inf"})
    n, first = s.nx, 1 if s.prior == "x0" else 0
    blocks = s.T + first
    B = half(oracle.exact(model["P0_inf"]))
    mean, X, cov = oracle.zeros(blocks * n), oracle.zeros(blocks * n, B.shape[1]), oracle.zeros(blocks * n, blocks * n)
    mean[:n], X[:n], cov[:n, :n] = s.m0, B, s.P0 + B @ B.T
    for b in range(1, blocks):
        F, now, was = s.at("F", b - first), slice(b * n, b * n + n), slice(b * n - n, b * n)
        mean[now], X[now] = F @ mean[was] + s.at("u", b - first), F @ X[was]
        cov[now, :b * n] = F @ cov[was, :b * n]
        cov[:b * n, now] = cov[now, :b * n].T
        cov[now, now] = F @ cov[was, was] @ F.T + s.at("Q", b - first)
    seen = [(slice((k + first) * n, (k + first + 1) * n), *s.observed(k)[1:]) for k in range(s.T)]
    C = np.concatenate([H @ cov[x] for x, H, _, _ in seen])     # Cov(y, x)
    V = np.concatenate([C[:, x] @ H.T for x, H, _, _ in seen], axis=1)
    A = np.concatenate([H @ X[x] for x, H, _, _ in seen])
    e = np.concatenate([z - H @ mean[x] for x, H, _, z in seen])
    at = 0
    for _, _, R, _ in seen:
        V[at:at + len(R), at:at + len(R)] += R
        at += len(R)
    L = cholesky(V)
    WC, WA, f = (oracle.forward_solve(L, right) for right in (C, A, e))
    M = cholesky(WA.T @ WA)
    g = oracle.forward_solve(M, WA.T @ f)
    D = oracle.forward_solve(M, X.T - WA.T @ WC)                # of x for given y, delta is what is left unknown
    mean = mean + WC.T @ f + D.T @ g
    cov = cov - WC.T @ WC + D.T @ D
    out = dict(loglik=np.array(-(len(e) * mp.log(2 * mp.pi) + f @ f - g @ g) / 2
                               - sum(mp.log(L[i, i]) for i in range(len(L)))
                               - sum(mp.log(M[i, i]) for i in range(len(M)))))
    mean, cov, at = mean.reshape(blocks, n), cov.reshape(blocks, n, blocks, n), np.arange(blocks)
    out["smoothed_mean"], out["smoothed_cov"] = mean[first:], cov[at, :, at][first:]
    out["lag_one_cov"] = oracle.zeros(s.T, n, n)
    out["lag_one_cov"][1 - first:] = cov[at[1:], :, at[:-1]]
    if first:
        out["prior_mean"], out["prior_cov"] = mean[0], cov[0, :, 0]
    return out


# ---- the cases: the datasets of /model as they are stored, and y or how to draw it

def trend(level, slope, R):
    return dict(F=[[1.0, 1], [0, 1]], Q_diag=[level, slope], H=[[1.0, 0]], R=[[R]], P0_inf_diag=[1.0, 1], prior="x1")


def structural(period, level, slope, season, R):
    """Trend and seasonal component in dummy form: level, slope, then the last period - 1 effects."""
    n = period + 1
    F = np.zeros((n, n))
    F[0, :2] = F[1, 1] = 1
    F[2, 2:] = -1
    F[np.arange(3, n), np.arange(2, n - 1)] = 1
    H = np.zeros((1, n))
    H[0, [0, 2]] = 1
    return dict(F=F, Q_diag=[level, slope, season] + [0.0] * (n - 3), H=H, R=[[R]], P0_inf_diag=np.ones(n), prior="x1")


def velocity_2d(dt, q, R):
    """Position and velocity in two directions, (x, y, vx, vy)."""
    F, Q = models.white_acceleration(dt, q)
    return dict(F=np.kron(F, np.eye(2)), Q=np.kron(Q, np.eye(2)), H=np.eye(2, 4), R=R * np.eye(2))


def blanked(T, ny, *rows, entries=()):
    """Where y is missing: whole rows, and single entries (row, entry)."""
    missing = np.zeros((T, ny), bool)
    missing[list(rows)] = True
    for k, i in entries:
        missing[k, i] = True
    return missing


def published_cases():
    nile = make_published.column("nile.csv", "volume").reshape(-1, 1)
    level = dict(F=[[1.0]], Q=[[ETA]], H=[[1.0]], R=[[EPS]], P0_inf_diag=[1.0], prior="x1")
    yield "nile", level, dict(y=nile)
    yield "nile_gaps", level, dict(y=nile, missing=blanked(100, 1, *range(3), *range(20, 40), *range(60, 80)))
    common = dict(F=np.eye(2), Q_diag=[1.5, 0], H=[[1.0, 0], [0.5, 1]], R=np.eye(2), P0_inf=np.eye(2), prior="x1")
    yield "common_level", common, dict(T=25, start=[4.0, -2])


def trend_cases():
    yield "trend", trend(0.5, 0.0625, 2.0), dict(T=40, start=[10.0, 0.5])
    yield "trend_observed_exactly", trend(0.0, 0.25, 0.0), dict(T=30, start=[1.0, 0.5])
    yield "trend_second_missing", trend(1.0, 0.125, 1.5), dict(T=30, start=[-3.0, 1], missing=blanked(30, 1, 1, 12, 13))
    yield "trend_precise", trend(1e-11, 1e-12, 1e-10), dict(T=30, start=[0.5, 0.125])
    yield "trend_coarse", trend(1e9, 1e8, 1e10), dict(T=30, start=[1000.0, 10])
    # Of two gauges of one level the first row determines a single direction, the difference is ordinary.
    yield "two_gauges", dict(trend(0.5, 0.25, 1.0), H=[[1.0, 0], [2, 0]], R=[[1.0, 0.5], [0.5, 2]], prior="x0"), dict(
        T=20, start=[2.0, 1])
    yield "scaled_prior", dict(trend(0.5, 0.25, 1.0), P0_inf_diag=[2.0 ** -20, 2.0 ** 20]), dict(T=20, start=[2.0, 1])
    yield "dummies", structural(4, 0.5, 0, 0.25, 1.0), dict(T=36, start=[20.0, 0.25, 3, -1, -4])
    season = 4 * np.round(np.sin(2 * np.pi * np.arange(11) / 12), 2)
    yield "seasonal", structural(12, 0.25, 0.015625, 0.0625, 0.5), dict(
        T=60, start=[50.0, 0.125, *season], missing=blanked(60, 1, *range(5), 30))


def batch_case():
    """Three series whose observations begin at steps 0, 2 and 5; the last one has a diffuse level alone."""
    missing = np.array([blanked(20, 1, *range(at), *range(last, 20)) for at, last in ((0, 20), (2, 20), (5, 16))])
    model = dict(trend(0.5, 0.25, 1.0), P0=[[0.25, 0], [0, 0.5]], m0=[0.0, 0.5],
                 P0_inf_diag=[[1.0, 1], [2, 0.5], [1, 0]])
    return "batch", model, dict(T=20, series=3, start=[5.0, 1], missing=missing)


def general_cases():
    rng = models.generator("diffuse_rank_two")
    random = models.random_model(rng, 30, 4, 2)
    A = np.array([[1.0, 0], [2, 1], [-1, 1], [0.5, 3]])
    random.update(u=f32(rng.normal(size=4)), d=f32(rng.normal(size=2)), P0_inf=A @ A.T)
    yield "rank_two", random, dict(start=random["m0"])
    rng = models.generator("diffuse_varying")
    random = dict(models.random_model(rng, 24, 4, 2, "FQHRud"), P0_inf=A @ A.T)
    yield "varying", random, dict(start=random["m0"], missing=blanked(24, 2, 9, entries=[(0, 1), (15, 0)]))
    yield "velocity", dict(velocity_2d(1.0, 0.25, 4.0), P0_inf_diag=np.ones(4), prior="x1"), dict(
        T=40, start=[1e6, -2e6, 30, -10])
    yield "just_determined", dict(velocity_2d(0.5, 1.0, 1.0), P0_inf_diag=np.ones(4), prior="x0"), dict(
        T=2, start=[1.0, 2, 0.5, -0.5])
    yield "one_row", dict(F=[[0.75, 0.5], [-0.25, 1]], Q=0.5 * np.eye(2), H=[[1.0, 0.5], [0.25, 1]], R=np.eye(2),
                          P0_inf=[[2.0, 1], [1, 1]], prior="x0"), dict(T=1, start=[1.0, -1])
    rng = models.generator("diffuse_regression")
    H = f32(np.stack([np.ones(30), rng.normal(size=30), np.arange(30) >= 10], axis=1))[:, None]
    yield "regression", dict(F=np.eye(3), Q_diag=np.zeros(3), H=H, R=[[0.25]], P0_inf_diag=np.ones(3),
                             prior="x1"), dict(T=30, start=[1.0, 2, -3])
    rng = models.generator("diffuse_one_by_one")
    random = models.random_model(rng, 20, 5, 3)
    del random["m0"], random["P0"]
    yield "one_by_one", dict(random, P0_inf_diag=[1, 2, 0.5, 4, 1]), dict(
        start=rng.normal(size=5), missing=blanked(20, 3, 2, entries=[
            (0, 1), (0, 2), (1, 0), (1, 1), (3, 1), (3, 2), (4, 0), (5, 0), (5, 2), (9, 1)]))
    rng = models.generator("diffuse_out_of")
    per_step = dict(F=models.rotation(rng, 3, (25,)), Q=models.spd(rng, 3, 1.0, (25,)), u=rng.normal(size=(25, 3)))
    yield "out_of", dict(per_step, H=rng.normal(size=(2, 3)), R=models.spd(rng, 2), m0=[1.0, 0, -1],
                         P0=np.diag([1.0, 0, 0.5]), P0_inf=[[1.0, 1, 0], [1, 2, 1], [0, 1, 1]],
                         prior="x1", transition="out-of"), dict(T=25, start=[1.0, 0, -1])
    yield "singular", dict(F=[[1.0, 0.5, 0], [0, 1, 0.25], [0, -0.25, 0.75]],
                           Q=[[1.0, 0.5, 0], [0.5, 0.25, 0], [0, 0, 0]], H=[[1.0, 0, 0], [0.5, 0, 1]],
                           R_diag=[0.0, 0.5], P0_inf_diag=np.ones(3), prior="x1"), dict(T=25, start=[3.0, -1, 2])


def contracting_cases():
    """States that move without noise, each eigenvalue at its own pace: what is left of them soon has correlations that
    are singular to round-off, in which the first steps end."""
    free = dict(H=np.ones((1, 3)), R=[[1.0]], Q_diag=np.zeros(3), P0_inf_diag=np.ones(3), prior="x1")
    yield "contracting", dict(free, F=[[0, -0.4, -0.2], [0, 0.3, -0.3], [0, 0, -0.6]]), dict(
        T=36, start=[2.0, -1, 3], missing=blanked(36, 1, *range(2, 36, 3)))
    yield "contracting_fast", dict(free, F=np.diag([0.5, 0.25, 0.125])), dict(T=30, start=[2.0, -1, 3])
    F = [[-0.2, -0.1, -0.2, 0.1], [0, -0.4, -0.5, 0.4], [-0.4, -0.4, 0.8, -0.3], [-0.5, -0.3, 0.3, -0.3]]
    yield "contracting_four", dict(F=F, Q_diag=np.zeros(4), H=np.ones((1, 4)), R=[[1.0]], P0_inf_diag=np.ones(4),
                                   prior="x1"), dict(T=40, start=[2.0, -1, 3, 1])


def cases():
    for family in (published_cases(), trend_cases(), [batch_case()], general_cases(), contracting_cases()):
        for name, model, settings in family:
            arrays = {k: np.asarray(a, float) for k, a in model.items()
                      if k.removesuffix("_diag") in RANK and a is not None}
            if not name.startswith("nile"):     # whose variances are known by their decimals
                arrays = {k: f32(a) for k, a in arrays.items()}
            attributes = {k: model[k] for k in ("prior", "transition") if k in model}
            yield name, arrays, attributes, dict(dict(T=model.get("T")), **settings)


def of_series(arrays, attributes, b):
    """The model of series b as the oracle takes it: matrices for diagonals, rows that lead into their step."""
    out = {}
    for key, a in arrays.items():
        name = key.removesuffix("_diag")
        if key != name:
            a = a[..., None] * np.eye(a.shape[-1])
        out[name] = a[b] if a.ndim == RANK[name] + (2 if name in make_golden.PER_STEP else 1) else a
    if attributes.get("transition") == "out-of":
        for name in "FQu":
            if name in out and out[name].ndim > RANK[name]:
                out[name] = np.concatenate([out[name][-1:], out[name][:-1]])    # the last row is not read
    n = len(out["P0_inf"])
    return dict(dict(m0=np.zeros(n), P0=np.zeros((n, n))), **out, prior=attributes["prior"])


def observations(name, arrays, attributes, settings):
    y = settings.get("y")
    if y is None:
        rng, series = models.generator(f"diffuse_{name}/y"), []
        for b in range(settings.get("series", 1)):
            start = np.asarray(settings["start"], float)
            m = of_series(arrays, attributes, b) | dict(m0=start, P0=np.zeros((len(start), len(start))))
            series.append(make_golden.simulate(rng, settings["T"], m))
        y = np.array(series) if "series" in settings else series[0]
    y = np.array(y)
    y[settings.get("missing", np.zeros(y.shape, bool))] = np.nan
    return y


# ---- files

def write(path, name, arrays, attributes, y, results, about):
    with h5py.File(path, "w", libver=("v110", "v110"), track_order=False) as f:
        put(f, "y", y)
        for key, a in arrays.items():
            put(f.require_group("model"), key, a)
        f["model"].attrs.update(attributes)
        for key in results[0]:
            of_all = [oracle.doubles(r[key]) for r in results]
            put(f.require_group("expected"), PATHS[key], np.array(of_all) if y.ndim == 3 else of_all[0])
        f.attrs["title"] = "kalscan golden case diffuse/" + name
        f.attrs["generator"] = (f"tests/golden/make_diffuse.py, mpmath {mp.__version__} with {mp.mp.dps} digits, "
                                f"seed {models.SEED}")
        for key, value in about.items():
            f["expected"].attrs[key] = value


def make(path, name, arrays, attributes, settings):
    y = observations(name, arrays, attributes, settings)
    results, counts = [], []
    for b, of_b in enumerate(y if y.ndim == 3 else y[None]):
        model = of_series(arrays, attributes, b)
        result, determined = limits(of_b, model)
        for key, a in least_squares(of_b, model).items():
            require(f"{name}, least squares, {key}", result[key], without_residue(a))
        results.append(result), counts.append(determined)
    exact = all(np.array_equal(f32(a), a, equal_nan=True) for a in (y, *arrays.values()))
    write(path, name, arrays, attributes, y, results, dict(
        determined=np.array(counts if y.ndim == 3 else counts[0], "i4"), f32_exact=np.int32(exact)))
    last = max(k for c in counts for k, r in enumerate(c) if r)
    print(f"{name:24s} {sum(map(sum, counts)):3d} directions, the last at step {last:2d}; f32 {exact:d} "
          f"{os.path.getsize(path):7d} bytes", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "diffuse"))
    parser.add_argument("names", nargs="*")
    a = parser.parse_args()
    for name, *case in cases():
        if not a.names or name in a.names:
            make(os.path.join(a.out, f"{name}.h5"), name, *case)


if __name__ == "__main__":
    sys.exit(main())
