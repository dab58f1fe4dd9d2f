"""The weekly CO2 series and its structural model: level, slope and a yearly cycle.

State: level, slope (per week), and for the first and second harmonic of the year a cosine and sine
pair that turns by 2 pi h / 52.18 each week. The level, the slope and the pairs are random walks.
"""
import csv
import math
import os
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
WEEKS_PER_YEAR = 365.25 / 7
HARMONICS = 2
NAMES = ("irregular", "level", "slope", "seasonal")
# Maximum likelihood under the prior below, found by fit_co2.py.
VARIANCES = dict(irregular=0.0854345, level=0.0196354, slope=3.52352e-8,
                 seasonal=1.37874e-5)
PRIOR_VARIANCE = 1e6


def series():
    """Dates as text and the concentrations (T,) in ppm, NaN where the week has no value."""
    with open(os.path.join(HERE, "co2.csv"), newline="") as f:
        rows = list(csv.DictReader(f))
    return ([r["date"] for r in rows],
            np.array([float(r["co2"]) if r["co2"] else np.nan for r in rows]))


def model(irregular, level, slope, seasonal):
    """The arrays of the model for the four variances."""
    nx = 2 + 2 * HARMONICS
    F, H = np.zeros((nx, nx)), np.zeros((1, nx))
    F[:2, :2] = [[1, 1], [0, 1]]
    H[0, 0] = 1
    for h in range(1, HARMONICS + 1):
        angle, i = 2 * math.pi * h / WEEKS_PER_YEAR, 2 * h
        c, s = math.cos(angle), math.sin(angle)
        F[i:i + 2, i:i + 2] = [[c, s], [-s, c]]
        H[0, i] = 1
    Q = np.diag([level, slope] + [seasonal] * (2 * HARMONICS))
    return dict(F=F, Q=Q, H=H, R=np.array([[irregular]]), m0=np.zeros(nx),
                P0=PRIOR_VARIANCE * np.eye(nx))
