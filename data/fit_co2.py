"""Fit the four variances of the CO2 model by maximum likelihood and print them.

usage: fit_co2.py [--check]      --check: exit 1 when co2_model.py holds others

The log-likelihood is that of kalscan: prior N(0, 1e6 I) for the first state, every observed entry
counted. Needs numpy, scipy and statsmodels.
"""
import sys
import numpy as np
from scipy.optimize import minimize
import co2_model
from state_space import smoother

START = dict(irregular=0.1, level=0.02, slope=1e-7, seasonal=1e-5)


def fit(y):
    def minus_loglik(logs):
        return -smoother(y, **co2_model.model(*np.exp(logs))).loglike()
    best = np.log([START[n] for n in co2_model.NAMES])
    for method, options in (("Nelder-Mead", dict(xatol=1e-4, fatol=1e-6, maxiter=2000)),
                            ("BFGS", dict(gtol=1e-4)),
                            ("Nelder-Mead", dict(xatol=1e-7, fatol=1e-9, maxiter=2000))):
        result = minimize(minus_loglik, best, method=method, options=options)
        best = result.x
    return dict(zip(co2_model.NAMES, np.exp(best))), -result.fun


def main():
    y = co2_model.series()[1]
    variances, loglik = fit(y)
    for name, value in variances.items():
        print(f"{name:10s} {value:.6g}   shipped {co2_model.VARIANCES[name]:.6g}")
    shipped = smoother(y, **co2_model.model(**co2_model.VARIANCES)).loglike()
    print(f"log-likelihood {loglik:.6f}   shipped {shipped:.6f}")
    # The likelihood is flat at its top: a difference of 1e-6 in it is one of 1e-3 in a variance.
    if "--check" in sys.argv and not abs(loglik - shipped) < 1e-5:
        sys.exit("fit_co2.py: the shipped variances are not at the maximum")


if __name__ == "__main__":
    main()
