"""The models of the golden cases: `cases()` yields (name, condition, settings).

Every number is a float (f32) value unless a case says otherwise, so that the same files serve both
precisions; singular covariances are products of few-bit factors and hence exactly singular.
Each case has a random generator of its own, seeded by its name: adding one changes no other.
"""
import os
import zlib
import h5py
import numpy as np

SEED = 20240607


def generator(name):
    return np.random.default_rng([SEED, zlib.crc32(name.encode())])


def f32(a):
    return np.asarray(a, float).astype(np.float32).astype(float)


def spd(rng, n, scale=1.0, lead=()):
    a = rng.normal(size=lead + (n, n + 2))
    return f32(scale * (a @ np.swapaxes(a, -1, -2)) / (n + 2))


def rotation(rng, n, lead=(), radius=0.99):
    return f32(radius * np.linalg.qr(rng.normal(size=lead + (n, n)))[0])


def random_model(rng, T, nx, ny, varying="", x1=False, series=None, per_series=False):
    """A stable random model; `varying` lists the arrays that change with the step."""
    def lead(k):
        if per_series:
            return (series, T) if k in "FQHRud" else (series,)
        return (T,) if k in varying else ()
    m = dict(F=rotation(rng, nx, lead("F")), Q=spd(rng, nx, 1.0, lead("Q")),
             H=f32(rng.normal(size=lead("H") + (ny, nx))), R=spd(rng, ny, 1.0, lead("R")),
             m0=f32(rng.normal(size=lead("m") + (nx,))), P0=spd(rng, nx, 1.0, lead("P")))
    for k, n in (("u", nx), ("d", ny)):
        if k in varying or per_series:
            m[k] = f32(rng.normal(size=lead(k) + (n,)))
    return dict(m, T=T, prior="x1" if x1 else "x0", series=series)


def kinematic(order, dt):
    """Taylor transition of `order` states and the loading of noise on the highest derivative."""
    c = [1.0, dt, dt ** 2 / 2, dt ** 3 / 6, dt ** 4 / 24]
    F = np.array([[c[j - i] if j >= i else 0.0 for j in range(order)] for i in range(order)])
    return F, np.array([c[order - 1 - i] if order > 1 else 1.0 for i in range(order)])


def white_acceleration(dt, q):
    """Constant velocity driven by white acceleration of spectral density q."""
    return (np.array([[1, dt], [0, 1.0]]),
            q * np.array([[dt ** 3 / 3, dt ** 2 / 2], [dt ** 2 / 2, dt]]))


def model(T, F, Q, H, R, P0, m0=None, **more):
    nx = len(F)
    m = dict(F=f32(F), Q=f32(Q), H=f32(np.atleast_2d(H)), R=f32(np.atleast_2d(R)), P0=f32(P0),
             m0=f32(np.zeros(nx) if m0 is None else m0))
    return dict(m, T=T, prior="x0", series=None) | more


def ordinary():
    for nx, ny, T in ((1, 1, 97), (2, 1, 101), (3, 2, 67), (4, 2, 127), (5, 3, 53), (6, 3, 47),
                      (7, 2, 41), (8, 4, 31)):
        name = f"lti_n{nx}m{ny}"
        yield name, random_model(generator(name), T, nx, ny)
    for nx, ny, T, x1 in ((1, 1, 59, False), (2, 1, 73, True), (3, 2, 50, True),
                          (4, 2, 61, False), (6, 3, 29, True), (8, 4, 23, False)):
        name = f"ltv_n{nx}m{ny}"
        yield name, random_model(generator(name), T, nx, ny, "FQHRud", x1)
    for name, T, nx, ny, varying, x1 in (
            ("one_step_x0", 1, 3, 2, "", False), ("one_step_x1", 1, 3, 2, "Fu", True),
            ("two_steps", 2, 4, 2, "", False), ("three_steps_x1", 3, 2, 1, "FQ", True),
            ("wide_n2m5", 43, 2, 5, "", False), ("only_H_varies", 40, 3, 2, "H", True),
            ("only_noise_varies", 40, 3, 2, "QR", False), ("only_F_varies", 40, 3, 2, "F", True),
            ("offsets_per_step", 37, 3, 2, "ud", False)):
        yield name, random_model(generator(name), T, nx, ny, varying, x1)
    rng = generator("offsets_constant_x1")
    yield "offsets_constant_x1", dict(random_model(rng, 37, 3, 2, "", True),
                                      u=f32(rng.normal(size=3)), d=f32(rng.normal(size=2)))
    rng = generator("unstable")
    yield "unstable", dict(random_model(rng, 60, 3, 2), F=rotation(rng, 3, (), 1.05))


def missing():
    for name, T, nx, ny, what, x1 in (
            ("missing_entries", 83, 4, 3, dict(entries=0.4), False),
            ("missing_rows", 89, 3, 2, dict(rows=[0, 1, 7, *range(20, 45), 87, 88]), False),
            ("missing_rows_x1", 61, 3, 2, dict(rows=[0, 30, 60], entries=0.2), True),
            ("missing_all", 19, 3, 2, dict(rows=range(19)), False),
            ("missing_all_x1", 19, 2, 1, dict(rows=range(19)), True)):
        yield name, dict(random_model(generator(name), T, nx, ny, "", x1), missing=what)
    name = "missing_ltv"
    yield name, dict(random_model(generator(name), 53, 4, 3, "FQHRud"),
                     missing=dict(entries=0.3, rows=[2, 52]))


def batch():
    rng = generator("batch_shared")
    yield "batch_shared", random_model(rng, 41, 3, 2, series=3)
    yield "batch_own_models", random_model(generator("batch_own"), 29, 3, 2, "", True, 3, True)
    m = random_model(generator("batch_ragged"), 47, 2, 2, series=3)
    yield "batch_ragged", dict(m, missing=dict(entries=0.15, last=(47, 30, 5)))


def vague():
    F, Q = white_acceleration(0.1, 0.1)
    for e in (6, 7, 10):
        yield f"vague_1e{e}", model(101, F, Q, [1, 0], 0.25, 10.0 ** e * np.eye(2))
    H = np.tile([[1.0, 1.0]], (60, 1, 1))
    H[20:, 0, 1] = -1
    yield "vague_sum_then_difference", model(60, 0.5 * np.eye(2) + 0.5 * np.ones((2, 2)) / 2,
                                             0.125 * np.eye(2), H[0], 0.25,
                                             1e7 * np.eye(2)) | dict(H=H)
    H = np.zeros((50, 1, 4))
    H[:10, 0, :2], H[10:, 0] = 1, [1, 0, 1, -1]
    yield "vague_combinations", model(50, np.eye(4), np.diag([0.25, 0.5, 0, 0.125]), H[0], 0.25,
                                      1e7 * np.eye(4)) | dict(H=H)
    yield "vague_x1_trend", model(80, [[1, 1], [0, 1]], np.diag([1.0, 0.0625]), [1, 0], 4.0,
                                  1e7 * np.eye(2), prior="x1", missing=dict(rows=[0, 1, 3]))
    F, Q = white_acceleration(0.5, 0.25)
    I3, Z = np.eye(3), np.kron(np.eye(3), [[1, 0]])
    yield "vague_tracking_n6m3", model(59, np.kron(I3, F), np.kron(I3, Q), Z, 0.25 * I3,
                                       1e7 * np.eye(6), missing=dict(entries=0.2))
    yield "vague_precise_one", model(60, np.eye(3) + np.diag([0.5, 0.5], 1), np.diag([0.01] * 3),
                                     [[1, 0, 0], [0, 0, 1]], np.diag([2.0 ** -14, 1.0]),
                                     1e6 * np.eye(3))
    S = np.zeros((5, 5))
    S[:2, :2] = [[1, 1], [0, 1]]
    S[2, 2:], S[3, 2], S[4, 3] = -1, 1, 1
    yield "vague_seasonal", model(71, S, np.diag([1.0, 0.0625, 0.25, 0, 0]), [1, 0, 1, 0, 0], 2.0,
                                  1e6 * np.eye(5), prior="x1", missing=dict(entries=0.1))


def singular():
    for order, dt, T in ((2, 0.125, 101), (3, 0.25, 61)):
        F, g = kinematic(order, dt)
        yield f"rank_one_Q_n{order}", model(T, F, np.outer(g, g), np.eye(order)[0], 0.01,
                                            np.eye(order))
    F, g = kinematic(2, 0.25)
    I2 = np.eye(2)
    yield "rank_two_Q_n4m2", model(53, np.kron(I2, F), np.kron(I2, np.outer(g, g)),
                                   np.kron(I2, [[1, 0]]), 0.0625 * I2, np.eye(4),
                                   missing=dict(entries=0.2))
    for name, T, change in (
            ("Q_zero", 40, dict(Q=np.zeros((3, 3)))), ("P0_zero", 40, dict(P0=np.zeros((3, 3)))),
            ("P0_zero_x1", 40, dict(P0=np.zeros((3, 3)), prior="x1")),
            ("P0_rank_one", 40, dict(P0=np.outer([1, 0.5, -0.25], [1, 0.5, -0.25]))),
            ("P0_zero_rows_x1", 40, dict(P0=np.diag([2.0, 0, 0]), prior="x1")),
            ("Q_zero_P0_rank_two", 40, dict(Q=np.zeros((3, 3)), P0=np.diag([1.0, 0, 4.0]))),
            ("R_zero", 40, dict(R=np.zeros((2, 2)))),
            ("R_zero_in_one_channel", 40, dict(R=np.diag([0, 0.5])))):
        yield name, random_model(generator(name), T, 3, 2) | change
    yield "R_zero_not_for_scans", model(40, F, np.diag([0, 0.25]), [1, 0], 0.0, np.eye(2))
    yield "R_zero_channel_not_for_scans", model(
        50, [[1, 0.5, 0], [0, 1, 0], [0, 0, 0.5]], np.diag([0, 0.25, 1.0]), [[1, 0, 0], [0, 1, 1]],
        np.diag([0, 0.5]), np.eye(3), missing=dict(rows=[9, 10]))
    yield "seasonal_dummies", model(73, [[1, 0, 0, 0], [0, -1, -1, -1], [0, 1, 0, 0],
                                         [0, 0, 1, 0]], np.diag([0.5, 0.25, 0, 0]),
                                    [1, 1, 0, 0], 1.0, 4 * np.eye(4))
    A = np.eye(4, k=-1)
    A[0] = [1.5, -0.75, 0.25, -0.125]
    yield "companion_exact", model(60, A, np.diag([1.0, 0, 0, 0]), [1, 0, 0, 0], 0.0, np.eye(4))
    R = np.full((90, 1, 1), 0.0625)
    R[[27, 45]] = 0
    yield "relaxation_exact_steps", model(90, [[0.9375, 0.25, 0], [0, 0.75, 0.5], [0, 0, 0.5]], np.zeros((3, 3)),
                                          [1, -1, 2], R, 16 * np.eye(3), m0=[16, -8, 32],
                                          u=f32([1, 2, 4]), missing=dict(rows=[50, 51]))
    yield "singular_F", model(60, [[0.5, 0.25, 0], [0, 0, 0], [1, -0.5, 0]], np.diag([1.0, 2, 0.5]),
                              [[1, 0, 0], [0, 1, 1]], np.diag([0.5, 0.25]), np.eye(3))


def stiff():
    F, g = kinematic(2, 1.0)
    yield "gap_of_1000", model(1031, F, np.diag([0, 2.0 ** -10]), [1, 0], 2.0 ** -10, np.eye(2),
                               missing=dict(rows=range(15, 1015)))
    F, Q = white_acceleration(1e-3, 1e-2)
    yield "fast_sampling", model(151, F, Q, [1, 0], 1e-6, np.eye(2))
    F, Q = white_acceleration(1.0, 1e-4)
    yield "slow_motion_vague", model(101, F, Q, [1, 0], 1.0, 1e6 * np.eye(2))
    D = np.array([1e6, 1e-6, 1.0])
    rng = generator("scaled_states")
    m = random_model(rng, 60, 3, 2)
    yield "scaled_states", m | dict(F=f32(m["F"] * D[:, None] / D), Q=f32(m["Q"] * np.outer(D, D)),
                                    H=f32(m["H"] / D), P0=f32(m["P0"] * np.outer(D, D)),
                                    m0=f32(m["m0"] * D), floor="state")
    F, g = kinematic(4, 0.25)
    yield "order_four_small_Q", model(101, F, 2.0 ** -20 * np.outer([0, 0, 0, 1], [0, 0, 0, 1]),
                                      [1, 0, 0, 0], 1.0, 100 * np.eye(4))
    yield "order_four_no_Q", model(101, F, np.zeros((4, 4)), [1, 0, 0, 0], 1.0, 100 * np.eye(4))
    r, w = 0.9995, 0.1
    yield "near_deterministic_ar", model(121, [[2 * r * np.cos(w), -r * r], [1, 0]],
                                         np.diag([2.0 ** -24, 0]), [1, 0], 1.0, np.eye(2))
    yield "precise_beside_coarse", model(80, [[1, 0.5], [0, 0.875]], np.diag([2.0 ** -14, 1.0]),
                                         np.eye(2), np.diag([2.0 ** -26, 64.0]), 100 * np.eye(2))


def shipped():
    """From data/: the Nile, as there and with two gaps, and the first 120 weeks of CO2. Their
    numbers are not floats."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "data")
    for name, T, holes in (("nile", 100, []), ("nile_gaps", 100, [*range(20, 40), *range(60, 80)]),
                           ("co2_start", 120, [])):
        with h5py.File(os.path.join(folder, name.split("_")[0] + ".h5")) as f:
            m = {k: a[()] for k, a in f["model"].items()}
            y = f["y"][:T].reshape(T, 1)
            y[holes] = np.nan
            yield name, dict(m, T=T, prior=f["model"].attrs["prior"], series=None, y=y)


def cases():
    for condition, families in (("ordinary", (ordinary, missing, batch)), ("vague", (vague, shipped)),
                                ("singular", (singular,)), ("stiff", (stiff,))):
        for family in families:
            for name, settings in family():
                yield name, condition, settings
