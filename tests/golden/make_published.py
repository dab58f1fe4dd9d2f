"""Write published.h: figures in print, as a C table for the tests, each checked with the oracle.

usage: make_published.py [OUT.h]      exit 1 when a figure is not reproduced within its bound

Exactly diffuse figures need no vague prior here. The diffuse start fixes the state after as many
observations as it has diffuse elements, in closed form (Koopman 1997, JASA 92, 1630-1638): the
level is y[0] with variance sigma2_eps, the local linear trend is given by its first two
observations. Those become missing, and that state is the prior (x1). Figures that count the
constants of the diffuse observations, -log(2 pi) / 2 each, differ by `constants` of them.
"""
import csv
import os
import sys
import numpy as np
import oracle

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "..", "data")
EPS, ETA = 15099.0, 1469.1
NAN = np.nan


def column(name, key):
    with open(os.path.join(DATA, name), newline="") as f:
        return np.array([float(row[key]) for row in csv.DictReader(f)])


def level(eps, eta, m0, P0):
    return dict(F=[[1.0]], Q=[[eta]], H=[[1.0]], R=[[eps]], m0=[m0], P0=[[P0]])


def trend(s, level_var, slope_var, m0, P0):
    return dict(F=[[1.0, 1], [0, 1]], Q=[[level_var, 0], [0, slope_var]], H=[[1.0, 0]], R=[[s]],
                m0=m0, P0=P0)


def gaps(y, *stretches):
    y = np.array(y, float)
    for first, last in stretches:       # counted from 1, both included
        y[first - 1:last] = NAN
    return y


def diffuse_trend_after_two(y1, y2, s, level_var, slope_var):
    """The state before the third observation: a3 and P3 of Koopman (1997)."""
    qm, qb = level_var / s, slope_var / s
    return ([2 * y2 - y1, y2 - y1], [[s * (5 + 2 * qm + qb), s * (3 + qm + qb)],
                                     [s * (3 + qm + qb), s * (2 + qm + 2 * qb)]])


def nile_cases(y):
    book = "Nile, sigma2_eps 15099, sigma2_eta 1469.1 (Durbin & Koopman 2012, ch. 2)"
    yield dict(name="nile_P1_1e6", source=book + "; P1 = 1e6, all terms", y=y,
               model=level(EPS, ETA, 0, 1e6), loglik=(-640.989753, 1e-6))
    yield dict(name="nile_P1_1e6_first_term_dropped", y=y, model=level(EPS, ETA, 0, 1e6), skip=1,
               source=book + "; P1 = 1e6 as in statsmodels' default, -632.538",
               loglik=(-632.537695, 1e-6))
    yield dict(name="nile_P1_1e7", source=book + "; P1 = 1e7, all terms", y=y,
               model=level(EPS, ETA, 0, 1e7), loglik=(-641.585578, 1e-6))
    start = level(EPS, ETA, y[0], EPS)
    states = [("filtered", 1871, 1120, 15099), ("filtered", 1872, 1140.927840, 7899.736379),
              ("filtered", 1970, 798.370293, 4032.157942),
              ("smoothed", 1871, 1111.668319, 4032.157942),
              ("smoothed", 1872, 1110.857665, 3242.930073),
              ("smoothed", 1913, 799.453269, 2326.756870),
              ("smoothed", 1920, 834.763259, 2326.756870),
              ("predicted", 1971, 798.370293, 5501.257942)]
    values = [v for kind, year, mean, var in states
              for v in ((kind + "_mean", year - 1871, 0, mean, 1e-6),
                        (kind + "_cov", year - 1871, 0, var, 1e-6))]
    values.append(("innovation_std", 1913 - 1871, 0, -2.789193, 1e-6))
    yield dict(name="nile_diffuse", source=book + "; exactly diffuse, 99 constants, KFAS's rule",
               y=gaps(np.append(y, NAN), (1, 1)), model=start, loglik=(-632.545625, 1e-6),
               values=values)
    yield dict(name="nile_diffuse_all_constants", y=gaps(y, (1, 1)), model=start, constants=1,
               source=book + "; exactly diffuse, 100 constants, statespacer's -6.334646 per step",
               loglik=(-633.464564, 1e-6))
    holes = gaps(y, (1, 1), (21, 40), (61, 80))
    yield dict(name="nile_gaps_diffuse", y=holes, model=start, loglik=(-380.587063, 1e-6),
               source=book + "; years 21-40 and 61-80 missing, exactly diffuse, 59 constants",
               values=[("smoothed_mean", 29, 0, 903.421103, 1e-6),
                       ("smoothed_cov", 29, 0, 9715.005902, 1e-6),
                       ("smoothed_mean", 69, 0, 837.177324, 1e-6),
                       ("smoothed_cov", 69, 0, 9715.005549, 1e-6)])
    yield dict(name="nile_gaps_diffuse_all_constants", y=holes, model=start, constants=1,
               source=book + "; the same, 60 constants", loglik=(-381.506001, 1e-6))


def unemployment_cases(y):
    rule = "US unemployment 1959-2009, KFAS results in statsmodels' tests; diffuse, no constants"
    for name, eps, eta, loglik in (("level", 4.256647886e-06, .1182078808, -70.97242557),
                                   ("random_walk", 0.0, .1182174646, -70.96771641)):
        yield dict(name="unemployment_" + name, source=rule, y=gaps(y, (1, 1)),
                   model=level(eps, eta, y[0], eps), loglik=(loglik, 1e-8))
    for name, s, level_var, slope_var, loglik in (
            ("trend", 1.339852549e-06, .01008704925, .0609176081, -31.15640107),
            ("smooth_trend", 8.824099119e-4, 0.0, .0753064234, -31.92261408)):
        m0, P0 = diffuse_trend_after_two(y[0], y[1], s, level_var, slope_var)
        yield dict(name="unemployment_" + name, source=rule, y=y[2:],
                   model=trend(s, level_var, slope_var, m0, P0), loglik=(loglik, 1e-8))


def koopman_cases():
    """Closed forms of the diffuse start, approached with P0 = 1e8 I: off by about s / P0."""
    source = "Koopman (1997), closed form of the diffuse start; P0 = 1e8 I"
    big, y = 1e8, (3.0, 5.0, 4.0)
    s, qm, qb = 2.0, 0.5, 0.25

    def state(step, mean, cov):
        n = len(mean)
        return ([("predicted_mean", step, i, mean[i], 1e-5) for i in range(n)]
                + [("predicted_cov", step, i, float(np.ravel(cov)[i]), 1e-5)
                   for i in range(n * n)])
    yield dict(name="koopman_level", source=source, y=[y[0], NAN],
               model=level(s, s * qm, 0.0, big), values=state(1, [y[0]], [[s * (1 + qm)]]))
    m0, P0 = diffuse_trend_after_two(y[0], y[1], s, s * qm, s * qb)
    model = trend(s, s * qm, s * qb, [0.0, 0], big * np.eye(2))
    yield dict(name="koopman_trend", source=source, y=[y[0], y[1], NAN], model=model,
               values=state(2, m0, P0))
    cov = [[2.5 + 1.5 * qm + 1.25 * qb, 1 + .5 * qm + 1.25 * qb],
           [1 + .5 * qm + 1.25 * qb, .5 + .5 * qm + 2.25 * qb]]
    yield dict(name="koopman_trend_second_missing", source=source, y=[y[0], NAN, y[2], NAN],
               model=model, values=state(3, [1.5 * y[2] - .5 * y[0], .5 * y[2] - .5 * y[0]],
                                         s * np.array(cov)))
    theta, s2mu = 0.5, 1.5
    common = dict(F=np.eye(2), Q=np.diag([s2mu, 0]), H=[[1.0, 0], [theta, 1]], R=np.eye(2),
                  m0=[0.0, 0], P0=big * np.eye(2))
    yield dict(name="koopman_common_level", source=source, y=[[y[0], y[1]], [NAN, NAN]],
               model=common, values=state(1, [y[0], y[1] - theta * y[0]],
                                          [[1 + s2mu, -theta], [-theta, 1 + theta ** 2]]))


def check(case):
    """The oracle's deviation from each figure relative to its bound, the largest one."""
    y = np.asarray(case["y"], float)
    r = oracle.estimate(y.reshape(len(y), -1), prior="x1", **case["model"])
    worst = 0.0
    if "loglik" in case:
        value, bound = case["loglik"]
        ours = np.sum(r["loglik_terms"][case.get("skip", 0):])
        ours -= case.get("constants", 0) * np.log(2 * np.pi) / 2
        worst = abs(ours - value) / bound
    for name, step, entry, value, bound in case.get("values", ()):
        worst = max(worst, abs(np.ravel(r[name][step])[entry] - value) / bound)
    return worst


def numbers(a):
    return ", ".join("PUBLISHED_NAN" if np.isnan(v) else repr(float(v)) for v in np.ravel(a))


def wrapped(text, indent=4, width=96):
    lines, line = [], ""
    for word in text.split(" "):
        if len(line) + len(word) + 1 > width - indent:
            lines.append(line)
            line = ""
        line += (" " if line else "") + word
    return ("\n" + " " * indent).join(lines + [line])


def c_case(case, data_name):
    y, m = np.asarray(case["y"], float), case["model"]
    values = case.get("values", ())
    loglik, bound = case.get("loglik", (NAN, 0))
    arrays = "".join(f"      .{k} = {{ {numbers(m[k])} }},\n" for k in
                     ("F", "Q", "H", "R", "m0", "P0"))
    table = "".join(f"          {{ KS_OUT_{n.upper()}, {k}, {i}, {v!r}, {b!r} }},\n"
                    for n, k, i, v, b in values)
    table = f"      .values = {{\n{table}      }},\n" if values else ""
    return (f"    /* {wrapped(case['source'], 7)} */\n"
            f"    {{ .name = \"{case['name']}\", .T = {len(y)}, .nx = {len(m['F'])}, "
            f".ny = {len(m['H'])},\n      .y = {data_name},\n{arrays}"
            f"      .loglik = {numbers(loglik)}, .loglik_bound = {bound!r},\n"
            f"      .skip = {case.get('skip', 0)}, .constants = {case.get('constants', 0)}, "
            f".count = {len(values)},\n{table}    }},\n")


HEAD = '''/* published.h -- figures in print, made by make_published.py; see published.md.
 *
 * Constant models with prior x1. The figure of a log-likelihood is the sum of the terms from step
 * `skip` on, less `constants` times log(2 pi) / 2. */
#ifndef PUBLISHED_H
#define PUBLISHED_H

#include <math.h>
#include "kalscan/smooth.h"

#define PUBLISHED_NAN ((double)NAN)

/* One number of an output: entry `entry` of its block at a step. */
typedef struct published_value {
    ks_output output;
    int64_t step;
    int entry;
    double value, bound; /* the difference allowed: of its digits, or of its approximation */
} published_value;

typedef struct published_case {
    const char *name;
    int64_t T;
    int nx, ny;
    const double *y; /* (T, ny), NaN where missing */
    double F[4], Q[4], H[4], R[4], m0[2], P0[4];
    double loglik, loglik_bound; /* NaN where none is published */
    int skip, constants, count;
    published_value values[20];
} published_case;

'''


def main():
    cases = [*nile_cases(column("nile.csv", "volume")),
             *unemployment_cases(column("unemployment.csv", "rate")), *koopman_cases()]
    bad = 0
    for case in cases:
        off = check(case)
        bad += not off <= 1
        print(f"{case['name']:34s} largest deviation {off:.2f} of its bound")
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "published.h")
    names, table = {}, ""
    for case in cases:
        data = numbers(case["y"])
        names.setdefault(data, f"published_y_{case['name']}")
        table += c_case(case, names[data])
    with open(out, "w") as f:
        f.write(HEAD)
        for data, name in names.items():
            f.write(f"static const double {name}[] = {{\n    {wrapped(data)}\n}};\n")
        f.write(f"\nstatic const published_case published_cases[] = {{\n{table}}};\n\n"
                "#define PUBLISHED_COUNT (sizeof published_cases / sizeof *published_cases)\n\n"
                "#endif\n")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
