"""Kalman filter and fixed-interval smoother in 50-digit arithmetic.

The model, with row k of every array belonging to step k:

    x[k] = F[k] x[k-1] + u[k] + w[k],   w[k] ~ N(0, Q[k]),   k = 0 .. T-1
    y[k] = H[k] x[k]   + d[k] + v[k],   v[k] ~ N(0, R[k])

The prior N(m0, P0) is that of x[-1] ("x0") or of x[0] ("x1"). NaN in y is a missing entry.

Filtering is the textbook recursion; smoothing is the modified Bryson-Frazier recursion (Bierman
1973), which inverts innovation covariances only, so that singular Q, R and P0 need no care. At 50
digits the cancellation of P - K S K' and P - P N P does not matter.

`estimate` is the recursion, `estimate_dense` conditions the joint Gaussian of all states on all
observations at once: another route to the same numbers, for short series (see verify_oracle.py).
"""
import numpy as np
import mpmath as mp

mp.mp.dps = 50

NAMES = ("predicted_mean", "predicted_cov", "filtered_mean", "filtered_cov", "smoothed_mean",
         "smoothed_cov", "lag_one_cov", "innovation", "innovation_cov", "innovation_std")


def exact(a):
    """An array of numbers as an array of mpf. Doubles are taken over without rounding."""
    a = np.asarray(a)
    out = np.empty(a.shape, dtype=object)
    for i in np.ndindex(a.shape):
        out[i] = a[i] if isinstance(a[i], mp.mpf) else mp.mpf(float(a[i]))
    return out


def zeros(*shape):
    return exact(np.zeros(shape))


def doubles(a):
    return np.array([float(v) for v in np.ravel(a)]).reshape(np.shape(a))


def cholesky(S):
    """Lower factor of S, or ValueError where a pivot is not clearly positive."""
    n = len(S)
    L = zeros(n, n)
    for j in range(n):
        pivot = S[j, j] - sum(L[j, i] ** 2 for i in range(j))
        if pivot <= abs(S[j, j]) * mp.mpf(10) ** -30:
            raise ValueError(f"not positive definite: pivot {j} is {mp.nstr(pivot, 5)}")
        L[j, j] = mp.sqrt(pivot)
        for r in range(j + 1, n):
            L[r, j] = (S[r, j] - sum(L[r, i] * L[j, i] for i in range(j))) / L[j, j]
    return L


def forward_solve(L, B):
    X = B.copy()
    for i in range(len(L)):
        for j in range(i):
            X[i] = X[i] - L[i, j] * X[j]
        X[i] = X[i] / L[i, i]
    return X


def symmetric(A):
    return (A + A.T) / 2


class Steps:
    """The model of one series, step by step; `ndim` is the rank of a block without steps."""

    def __init__(self, y, F, Q, H, R, m0, P0, u=None, d=None, prior="x0"):
        self.y = np.asarray(y, float)
        self.T, self.ny = self.y.shape
        self.nx = len(m0)
        self.prior = prior
        self.m0, self.P0 = exact(m0), exact(P0)
        u = np.zeros(self.nx) if u is None else u
        d = np.zeros(self.ny) if d is None else d
        self.arrays = {k: (exact(a), np.ndim(a) > n) for k, a, n in
                       (("F", F, 2), ("Q", Q, 2), ("H", H, 2), ("R", R, 2), ("u", u, 1),
                        ("d", d, 1))}

    def at(self, name, k):
        a, per_step = self.arrays[name]
        return a[k] if per_step else a

    def observed(self, k):
        """Indices of the entries present at step k, and H, R, y - d restricted to them."""
        i = np.flatnonzero(~np.isnan(self.y[k]))
        return (i, self.at("H", k)[i], self.at("R", k)[np.ix_(i, i)],
                exact(self.y[k, i]) - self.at("d", k)[i])


def estimate(y, **model):
    """Everything that can be asked about one series: a dict of double arrays, see NAMES."""
    s = Steps(y, **model)
    out = {k: [None] * s.T for k in NAMES}
    update, terms = [None] * s.T, []
    m, P = s.m0, s.P0
    for k in range(s.T):
        if k > 0 or s.prior == "x0":
            F = s.at("F", k)
            m, P = F @ m + s.at("u", k), symmetric(F @ P @ F.T) + s.at("Q", k)
        out["predicted_mean"][k], out["predicted_cov"][k] = m, P
        for name in ("innovation", "innovation_std"):
            out[name][k] = np.full(s.ny, mp.nan, dtype=object)
        out["innovation_cov"][k] = np.full((s.ny, s.ny), mp.nan, dtype=object)
        i, H, R, z = s.observed(k)
        if not len(i):
            terms.append(mp.mpf(0))
        else:
            S, e = symmetric(H @ P @ H.T) + R, z - H @ m
            L = cholesky(S)
            G, f = forward_solve(L, H), forward_solve(L, e)    # G'G = H' S^-1 H, G'f = H' S^-1 e
            out["innovation"][k][i], out["innovation_std"][k][i] = e, f
            out["innovation_cov"][k][np.ix_(i, i)] = S
            terms.append(-(len(i) * mp.log(2 * mp.pi) + f @ f) / 2
                         - sum(mp.log(L[j, j]) for j in range(len(i))))
            update[k] = G, f, np.eye(s.nx, dtype=int) - P @ G.T @ G
            PG = P @ G.T
            m, P = m + PG @ f, symmetric(P - PG @ PG.T)
        out["filtered_mean"][k], out["filtered_cov"][k] = m, P
    backward(s, out, update)
    out = {k: doubles(np.array(v)) for k, v in out.items()}
    if s.prior == "x1":
        del out["prior_mean"], out["prior_cov"]
    out["loglik_terms"] = doubles(np.array(terms))
    out["loglik"] = float(sum(terms))
    return out


def backward(s, out, update):
    """r and N hold the gradient and curvature of the later observations with respect to x[k]:
    first from those after step k, then with step k's own."""
    r, N = zeros(s.nx), zeros(s.nx, s.nx)
    for k in range(s.T - 1, -1, -1):
        m, P = out["filtered_mean"][k], out["filtered_cov"][k]
        out["smoothed_mean"][k] = m + P @ r
        out["smoothed_cov"][k] = symmetric(P - P @ N @ P)
        if update[k]:
            G, f, C = update[k]
            r, N = G.T @ f + C.T @ r, G.T @ G + symmetric(C.T @ N @ C)
        F = s.at("F", k)
        if k > 0 or s.prior == "x0":
            before = out["filtered_cov"][k - 1] if k > 0 else s.P0
            PF = F @ before
            out["lag_one_cov"][k] = PF - out["predicted_cov"][k] @ N @ PF
            r, N = F.T @ r, symmetric(F.T @ N @ F)
        else:
            out["lag_one_cov"][k] = zeros(s.nx, s.nx)
    out["prior_mean"] = s.m0 + s.P0 @ r
    out["prior_cov"] = symmetric(s.P0 - s.P0 @ N @ s.P0)


def estimate_dense(y, **model):
    """The smoothed results of `estimate` by conditioning one joint Gaussian. Cost (T nx)^3."""
    s = Steps(y, **model)
    n, first = s.nx, 1 if s.prior == "x0" else 0      # block 0 is x[-1] under x0, x[0] under x1
    blocks = s.T + first
    mean, cov = zeros(blocks * n), zeros(blocks * n, blocks * n)
    mean[:n], cov[:n, :n] = s.m0, s.P0
    for b in range(1, blocks):
        F, now, was = s.at("F", b - first), slice(b * n, b * n + n), slice(b * n - n, b * n)
        mean[now] = F @ mean[was] + s.at("u", b - first)
        cov[now, :b * n] = F @ cov[was, :b * n]
        cov[:b * n, now] = cov[now, :b * n].T
        cov[now, now] = F @ cov[was, was] @ F.T + s.at("Q", b - first)
    rows, noise, z = [], [], []
    for k in range(s.T):
        i, H, R, zk = s.observed(k)
        row = zeros(len(i), blocks * n)
        row[:, (k + first) * n:(k + first + 1) * n] = H
        rows.append(row), noise.append(R), z.append(zk)
    A, z = np.concatenate(rows), np.concatenate(z)
    S, at = A @ cov @ A.T, 0
    for R in noise:
        S[at:at + len(R), at:at + len(R)] += R
        at += len(R)
    out = {"loglik": 0.0}
    if len(z):
        L = cholesky(S)
        W, f = forward_solve(L, A @ cov), forward_solve(L, z - A @ mean)
        out["loglik"] = float(-(len(z) * mp.log(2 * mp.pi) + f @ f) / 2
                              - sum(mp.log(L[j, j]) for j in range(len(z))))
        mean, cov = mean + W.T @ f, cov - W.T @ W
    mean, cov = doubles(mean).reshape(blocks, n), doubles(cov).reshape(blocks, n, blocks, n)
    at = np.arange(blocks)
    out["smoothed_mean"], out["smoothed_cov"] = mean[first:], cov[at, :, at][first:]
    lag = np.zeros((s.T, n, n))
    lag[1 - first:] = cov[at[1:], :, at[:-1]]
    out["lag_one_cov"] = lag
    if first:
        out["prior_mean"], out["prior_cov"] = mean[0], cov[0, :, 0]
    return out
