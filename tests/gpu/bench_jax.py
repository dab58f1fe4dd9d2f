#!/usr/bin/env python3
"""The parallel Kalman filter by jax.lax.associative_scan, as a peer of `bench_gpu_smooth`: lines of JSON.

usage: bench_jax.py [--seconds S] [--longest T] [--cpu]

Elements and operator are those of Sarkka and Garcia-Fernandez (eq. 43 to 46), batched over time as
JAX programs write them; building the elements counts, as it does for a filter. The model varies at every
step, nx = 4, ny = 2. What is computed is first compared with an ordinary Kalman filter. Compiling is not
timed. Exit code 77 where there is no JAX or it has no GPU; --cpu takes what there is."""

import argparse
import json
import sys
import time

try:
    import numpy as np
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)

NX, NY, REPEATS = 4, 2, 9


def model(T, dtype):
    """Arrays that vary at every step, and observations."""
    rng = np.random.default_rng(1)
    step = np.arange(T).reshape(-1, 1, 1)
    F = 0.95 * np.eye(NX) + 0.02 * ((step + np.arange(NX * NX).reshape(NX, NX)) % 7 - 3) * (1 - np.eye(NX))
    Q = (0.1 + 0.01 * (step % 5)) * np.eye(NX)
    H = np.eye(NY, NX) + 0.1 * ((step + np.arange(NX)) % 4)
    R = (0.5 + 0.1 * (step % 3)) * np.eye(NY)
    y = rng.standard_normal((T, NY))
    return [a.astype(dtype) for a in (F, Q, H, R, y)]


def sequential(F, Q, H, R, y):
    """Filtered means in double, from the prior N(0, I) of the state before the first step."""
    x, P, means = np.zeros(NX), np.eye(NX), []
    for k in range(len(y)):
        x, P = F[k] @ x, F[k] @ P @ F[k].T + Q[k]
        S = H[k] @ P @ H[k].T + R[k]
        K = np.linalg.solve(S, H[k] @ P).T
        x, P = x + K @ (y[k] - H[k] @ x), P - K @ S @ K.T
        means.append(x)
    return np.array(means)


def parallel_filter(jax):
    jnp = jax.numpy
    transpose = lambda a: jnp.swapaxes(a, -1, -2)

    def element(F, Q, H, R, y):
        S = H @ Q @ H.T + R
        K = jnp.linalg.solve(S, H @ Q).T
        G = jnp.linalg.solve(S, H @ F)
        return (F - K @ (H @ F), K @ y, Q - K @ S @ K.T, G.T @ y, G.T @ (H @ F))

    def first(F, Q, H, R, y):
        P = F @ F.T + Q
        S = H @ P @ H.T + R
        K = jnp.linalg.solve(S, H @ P).T
        zero = jnp.zeros_like(F)
        return (zero, K @ y, P - K @ S @ K.T, jnp.zeros(NX, F.dtype), zero)

    def combine(left, right):
        A1, b1, C1, eta1, J1 = left
        A2, b2, C2, eta2, J2 = right
        one = jnp.eye(NX, dtype=A1.dtype)
        X = transpose(jnp.linalg.solve(transpose(one + C1 @ J2), transpose(A2)))
        Y = transpose(jnp.linalg.solve(transpose(one + J2 @ C1), A1))
        vector = lambda M, v: jnp.einsum("...ij,...j->...i", M, v)
        return (X @ A1, vector(X, b1 + vector(C1, eta2)) + b2, X @ C1 @ transpose(A2) + C2,
                vector(Y, eta2 - vector(J2, b1)) + eta1, Y @ J2 @ A1 + J1)

    def run(F, Q, H, R, y):
        rest = jax.vmap(element)(F, Q, H, R, y)
        start = first(F[0], Q[0], H[0], R[0], y[0])
        all_steps = tuple(a.at[0].set(b) for a, b in zip(rest, start))
        scanned = jax.lax.associative_scan(combine, all_steps)
        return scanned[1], scanned[2]

    return jax.jit(run)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--longest", type=float, default=1e6)
    parser.add_argument("--cpu", action="store_true")
    arguments = parser.parse_args()
    begun = time.monotonic()
    try:
        import jax
        platform = jax.default_backend()
    except (ImportError, RuntimeError) as error:
        print(f"no JAX: {error}")
        return 77
    if platform != "gpu" and not arguments.cpu:
        print(f"JAX has no GPU here but {platform}")
        return 77
    jax.config.update("jax_enable_x64", True)
    # A GPU would otherwise multiply single-precision matrices in fewer digits than the peers do.
    jax.config.update("jax_default_matmul_precision", "highest")
    run, wrong = parallel_filter(jax), 0
    for precision, bound in (("f32", 1e-3), ("f64", 1e-9)):
        arrays = model(300, np.float64)
        found = np.asarray(run(*(a.astype(precision.replace("f", "float")) for a in arrays))[0])
        error = float(np.abs(found - sequential(*arrays)).max())
        wrong |= not error <= bound
        print(json.dumps({"what": "jax against a Kalman filter", "precision": precision, "error": error}))
    T = 1000
    while T <= arguments.longest and not wrong:
        for precision in ("f32", "f64"):
            if time.monotonic() - begun > arguments.seconds:
                return 0
            arrays = [jax.device_put(a) for a in model(T, precision.replace("f", "float"))]
            jax.block_until_ready(run(*arrays))
            ns = []
            for _ in range(REPEATS):
                start = time.perf_counter_ns()
                jax.block_until_ready(run(*arrays))
                ns.append(time.perf_counter_ns() - start)
            ns.sort()
            print(json.dumps({
                "job": "filter", "method": "jax-associative-scan", "scan": "none",
                "backend": "cuda" if platform == "gpu" else platform, "precision": precision, "threads": 1,
                "T": T, "nx": NX, "ny": NY, "where": "device", "repeats": REPEATS,
                "median_ns": ns[REPEATS // 2], "min_ns": ns[0], "max_ns": ns[-1],
                "ns_per_step": ns[REPEATS // 2] / T}), flush=True)
        T *= 10
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
