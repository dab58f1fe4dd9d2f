"""Maximum likelihood from Python: libkalscan through ctypes, no files between.

The flow of the Nile is a local level: x[k] = x[k-1] + w[k], y[k] = x[k] + v[k]. The script finds the two
variances under which the observations are likeliest; R's StructTS has 1469 and 15099. `Likelihood` takes any
model that does not vary with the step, also with missing entries and several observations at a time, and has
the exact gradient by all numbers of the model.
usage: likelihood.py      with LIBKALSCAN, the path of the shared library, where it is not installed"""
import ctypes
import ctypes.util
import os
import pathlib

import numpy as np

path = os.environ.get("LIBKALSCAN") or ctypes.util.find_library("kalscan")
if not path:
    raise ImportError("libkalscan is not installed: set LIBKALSCAN to the path of libkalscan.so")
LIBRARY = ctypes.CDLL(path)


class View(ctypes.Structure):
    """ks_view and ks_out: an array and the elements from step to step and from series to series."""
    _fields_ = [("data", ctypes.c_void_p), ("step", ctypes.c_int64), ("series", ctypes.c_int64)]


class Sized(ctypes.Structure):
    """The library's structures begin with their size."""
    def __init__(self, **values):
        super().__init__(ctypes.sizeof(self), **values)


class Model(Sized):
    """ks_model."""
    _fields_ = [("size", ctypes.c_size_t)] + [(name, View) for name in ("F", "Q", "u", "H", "R", "d", "m0", "P0")] + [
        ("prior", ctypes.c_int), ("transition", ctypes.c_int)]


class Outputs(Sized):
    """ks_outputs, of which a filter may be asked for the first alone."""
    _fields_ = [("size", ctypes.c_size_t), ("loglik", View), ("others", View * 16)]


class Gradient(Sized):
    """ks_gradient."""
    _fields_ = [("size", ctypes.c_size_t)] + [
        (name, View) for name in ("loglik", "F", "Q", "u", "H", "R", "d", "m0", "P0")]


class Options(Sized):
    """ks_smooth_options."""
    _fields_ = [("size", ctypes.c_size_t), ("job", ctypes.c_int), ("method", ctypes.c_int),
                ("precision", ctypes.c_int), ("outputs", ctypes.c_uint), ("scan", ctypes.c_int),
                ("scan_threshold", ctypes.c_int64), ("threads", ctypes.c_int), ("tier", ctypes.c_int),
                ("progress", ctypes.c_void_p), ("progress_user", ctypes.c_void_p), ("order", ctypes.c_int),
                ("backend", ctypes.c_int), ("device", ctypes.c_int), ("second_device", ctypes.c_int),
                ("steady_state", ctypes.c_int)]


FILTER, LOGLIK, LADNER_FISCHER, DOUBLE = 1, 1, 2, 0  # KS_JOB_FILTER, KS_OUT_LOGLIK, KS_SCAN_LADNER_FISCHER, KS_F64
LIBRARY.ks_strerror.restype = ctypes.c_char_p
LIBRARY.ks_smooth_workspace_bytes.restype = LIBRARY.ks_gradient_workspace_bytes.restype = ctypes.c_size_t
for function in (LIBRARY.ks_smooth_workspace_bytes, LIBRARY.ks_gradient_workspace_bytes, LIBRARY.ks_smooth_plan_destroy):
    function.argtypes = [ctypes.c_void_p]
LIBRARY.ks_smooth_plan_create.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p, ctypes.c_int64,
                                          ctypes.c_int64, ctypes.c_int, ctypes.c_int, ctypes.POINTER(Options)]
LIBRARY.ks_smooth_run.argtypes = [ctypes.c_void_p, ctypes.POINTER(Model), View, ctypes.POINTER(Outputs),
                                  ctypes.c_void_p, ctypes.c_void_p]
LIBRARY.ks_diffuse_run.argtypes = [ctypes.c_void_p, ctypes.POINTER(Model), View, View, ctypes.POINTER(Outputs),
                                   ctypes.c_void_p, ctypes.c_void_p]
LIBRARY.ks_gradient_run.argtypes = [ctypes.c_void_p, ctypes.POINTER(Model), View, View, ctypes.POINTER(Gradient),
                                    ctypes.c_void_p, ctypes.c_void_p]
LIBRARY.ks_covariance_symmetrize.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_void_p,
                                             ctypes.c_double, ctypes.c_double, ctypes.c_void_p]
LIBRARY.ks_model_check.argtypes = [ctypes.c_void_p, ctypes.POINTER(Model), ctypes.c_double, ctypes.c_double,
                                   ctypes.c_void_p]


def check(status):
    if status:
        raise ValueError(LIBRARY.ks_strerror(status).decode())


class Likelihood:
    """log p(y) of models with nx states for observations y (T,) or (T, ny), NaN where missing. The plan is made
    once and run at each call."""

    def __init__(self, y, nx):
        self.plan = ctypes.c_void_p()
        y = np.asarray(y, float)
        self.y = np.ascontiguousarray(y.reshape(len(y), -1))
        self.nx, self.ny = nx, self.y.shape[1]
        options = Options(job=FILTER, outputs=LOGLIK, scan=LADNER_FISCHER, scan_threshold=1, second_device=-1)
        check(LIBRARY.ks_smooth_plan_create(self.plan, None, len(y), 1, nx, self.ny, options))
        size = max(LIBRARY.ks_smooth_workspace_bytes(self.plan), LIBRARY.ks_gradient_workspace_bytes(self.plan))
        self.memory = np.empty(size + 64, np.uint8)
        self.work = (self.memory.ctypes.data + 63) & ~63

    def __del__(self):
        LIBRARY.ks_smooth_plan_destroy(self.plan)

    def read(self, F, Q, H, R, m0=None, P0=None, prior=1, u=None, d=None, P0_inf=None):
        """F, Q (nx, nx), H (ny, nx), R (ny, ny), m0 (nx), P0 (nx, nx), numbers where nx = ny = 1; u (nx), d (ny)
        what is added to F x and H x, if anything.
        prior: N(m0, P0) is that of x[0] (1, as in statsmodels), or of the state before it (0).
        P0_inf (nx, nx): diffuse, with the prior covariance P0 + kappa P0_inf, kappa -> infinity; m0 and P0 are zero
        where they are not given.
        ValueError where an array is not finite, Q, R, P0 or P0_inf not symmetric or indefinite."""
        nx, ny = self.nx, self.ny
        shapes = dict(F=(nx, nx), Q=(nx, nx), u=nx, H=(ny, nx), R=(ny, ny), d=ny, m0=nx, P0=(nx, nx), P0_inf=(nx, nx))
        given = dict(F=F, Q=Q, u=u, H=H, R=R, d=d, m0=np.zeros(nx) if m0 is None else m0,
                     P0=np.zeros((nx, nx)) if P0 is None else P0, P0_inf=P0_inf)
        arrays = {name: np.array(array, float, order="C").reshape(shapes[name])
                  for name, array in given.items() if array is not None}
        infinite = arrays.pop("P0_inf", None)
        model = Model(prior=prior, **{name: View(a.ctypes.data) for name, a in arrays.items()})
        # A run does not check the arrays, so check them here.
        if LIBRARY.ks_model_check(self.plan, model, 1e-8, 1e-10, None):
            raise ValueError("an array is not finite, or one of Q, R, P0 not symmetric or indefinite")
        if infinite is not None:
            check(LIBRARY.ks_covariance_symmetrize(DOUBLE, nx, 1, infinite.ctypes.data, 1e-8, 1e-10, None))
        return model, arrays, infinite, View(self.y.ctypes.data, ny)

    def __call__(self, *given, **arrays):
        """log p(y) of a model as read() takes it. ValueError also where an innovation covariance is not positive
        definite."""
        model, _, infinite, y = self.read(*given, **arrays)
        value = ctypes.c_double()
        outputs = Outputs(loglik=View(ctypes.addressof(value)))
        if infinite is None:
            check(LIBRARY.ks_smooth_run(self.plan, model, y, outputs, self.work, None))
        else:
            check(LIBRARY.ks_diffuse_run(self.plan, model, View(infinite.ctypes.data), y, outputs, None, None))
        return value.value

    def gradient(self, *given, **arrays):
        """log p(y), and its derivatives by every number of F, Q, H, R, m0, P0, and u, d where they are given, in a
        dictionary. What is added to a symmetric Q, R or P0 counts in both of the places where it stands."""
        model, held, infinite, y = self.read(*given, **arrays)
        value = ctypes.c_double()
        by = {name: np.empty_like(array) for name, array in held.items()}
        gradient = Gradient(loglik=View(ctypes.addressof(value)), **{name: View(a.ctypes.data) for name, a in by.items()})
        P0_inf = View() if infinite is None else View(infinite.ctypes.data)
        check(LIBRARY.ks_gradient_run(self.plan, model, P0_inf, y, gradient, self.work, None))
        return value.value, by


def maximum(f, x, step=1e-4):
    """Newton's method; f returns a value and a gradient. scipy.optimize.minimize with jac=True does as well."""
    moves = step * np.eye(len(x))
    value, gradient = f(x)
    for _ in range(100):
        hessian = np.array([f(x + a)[1] - f(x - a)[1] for a in moves]) / (2 * step)
        values, vectors = np.linalg.eigh((hessian + hessian.T) / 2)
        move = vectors @ (vectors.T @ gradient / np.maximum(abs(values), 1e-2))
        while f(x + move)[0] < value and abs(move).max() > 1e-8:
            move = move / 2
        x = x + move
        value, gradient = f(x)
        if abs(move).max() < 1e-8:
            break
    return x, value


def main():
    table = np.genfromtxt(pathlib.Path(__file__).parent / "../data/nile.csv", delimiter=",", names=True)
    y = table["volume"]
    loglik = Likelihood(y, nx=1)

    def f(logs):
        level, irregular = np.exp(logs)
        value, by = loglik.gradient(F=1, Q=level, H=1, R=irregular, P0_inf=1)
        return value, np.array([by["Q"].item() * level, by["R"].item() * irregular])

    logs, value = maximum(f, np.log([y.var() / 10, y.var()]))
    level, irregular = np.exp(logs)
    print(f"level {level:.0f}, irregular {irregular:.0f}: log-likelihood {value:.4f}")


if __name__ == "__main__":
    main()
