"""Compare the two routes of oracle.py on short random models: the recursion against conditioning
the joint Gaussian. Prints the largest difference; exits 1 above 1e-14 of the largest entry."""
import sys
import numpy as np
from oracle import estimate, estimate_dense


def random_model(rng, T, nx, ny, prior):
    def spd(n, rank):
        a = rng.normal(size=(T, n, rank))
        return a @ np.swapaxes(a, 1, 2)
    y = rng.normal(size=(T, ny))
    y[rng.random(y.shape) < 0.3] = np.nan
    return y, dict(F=rng.normal(size=(T, nx, nx)), Q=spd(nx, 1), H=rng.normal(size=(T, ny, nx)),
                   R=spd(ny, ny), m0=rng.normal(size=nx), P0=spd(nx, max(nx - 1, 1))[0],
                   u=rng.normal(size=(T, nx)), d=rng.normal(size=(T, ny)), prior=prior)


def main():
    rng, worst, models, finite = np.random.default_rng(1), 0.0, 0, True
    for T in (1, 2, 3, 7):
        for nx, ny in ((1, 1), (2, 3), (3, 2)):
            for prior in ("x0", "x1"):
                y, model = random_model(rng, T, nx, ny, prior)
                a, b = estimate(y, **model), estimate_dense(y, **model)
                models += 1
                for name, value in b.items():
                    scale = max(1.0, np.max(np.abs(value)))
                    worst = np.fmax(worst, np.max(np.abs(a[name] - value)) / scale)
                    finite &= bool(np.all(np.isfinite(value)) and np.all(np.isfinite(a[name])))
    print(f"{models} models, largest relative difference {worst:.1e}")
    return int(not finite or worst > 1e-14)


if __name__ == "__main__":
    sys.exit(main())
