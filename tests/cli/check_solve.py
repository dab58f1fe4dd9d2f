"""What `kalscan solve` writes: the solution of the dense system from every form of a file, by every
method and precision; shapes, types, axes and attributes. usage: check_solve.py KALSCAN"""
import itertools
import os
import re
import subprocess
import sys
import tempfile

import h5py
import numpy as np

kalscan = os.path.abspath(sys.argv[1])
here = os.path.dirname(os.path.abspath(__file__))
PRECISIONS = ["f64", "f32", "mixed"]
METHODS = ["auto", "sequential", "twisted", "partition", "nested-dissection", "recursive-schur"]


def run(*arguments):
    subprocess.run([kalscan, *arguments, "--quiet", "--force"], check=True)


def solve(source, *options):
    run("solve", source, "-o", "out.h5", *options)
    with h5py.File("out.h5") as f:
        return {key: value[()] for key, value in f.items()}


def system(source):
    """D, L and b as layout c has them, without what is not read."""
    with h5py.File(source) as f:
        D, b = f["D"][()].astype("f8"), f["b"][()].astype("f8")
        L = f["L"][()].astype("f8") if "L" in f else np.zeros((0,) + D.shape[-2:])
        fortran = f.attrs.get("layout") == "fortran"
    if D.ndim == 2:
        D, b = D[None], b[None]
    if fortran:
        D, L = np.swapaxes(D, 1, 2), np.swapaxes(L, 1, 2)
        b = np.swapaxes(b, 1, 2) if b.ndim == 3 else b
    return np.tril(D), L, b


def dense(D, L):
    N, n, _ = D.shape
    A = np.zeros((N, n, N, n))
    for i in range(N):
        A[i, :, i] = D[i] + np.tril(D[i], -1).T
    for i in range(N - 1):
        A[i + 1, :, i], A[i, :, i + 1] = L[i], L[i].T
    return A.reshape(N * n, N * n)


def check(source, precision, *options):
    """Everything that is written for one file against the dense system."""
    D, L, b = system(source)
    N, n, _ = D.shape
    A = dense(D, L)
    S = np.linalg.inv(A).reshape(N, n, N, n)
    out = solve(source, "--precision", precision, "--inverse-blocks", *options)
    with h5py.File(source) as f:
        fortran, shape = f.attrs.get("layout") == "fortran", f["b"].shape
    x, lag = out["x"], out["S_lag"]
    assert x.shape == shape, (source, x.shape)
    if fortran:
        x = np.swapaxes(x, -1, -2) if x.ndim == b.ndim else x.T[None]
        lag = np.swapaxes(lag, 1, 2)
    exact = np.linalg.solve(A, b.reshape(N * n, -1)).reshape(b.shape)
    sharp, rough = (1e-5 if precision == "f32" else 1e-12), (1e-12 if precision == "f64" else 1e-5)
    assert np.allclose(x, exact, rtol=sharp, atol=sharp * abs(exact).max()), source
    assert np.isclose(out["logdet"], np.linalg.slogdet(A)[1], rtol=rough, atol=rough * N * n)
    diagonal = np.stack([S[i, :, i] for i in range(N)])
    coupling = np.array([S[i + 1, :, i] for i in range(N - 1)]).reshape(N - 1, n, n)
    for found, expected in ((out["S_diag"], diagonal), (lag, coupling)):
        assert found.shape == expected.shape
        assert np.allclose(found, expected, rtol=rough, atol=rough * abs(S).max())
    assert np.array_equal(out["S_diag"], np.swapaxes(out["S_diag"], 1, 2))
    number = "f4" if precision == "f32" else "f8"
    assert all(out[key].dtype == number for key in ("x", "S_diag", "S_lag"))
    assert out["logdet"].dtype == "f8" and out["logdet"].shape == ()


def forms():
    for number, name in enumerate(("sys", "sys_one_rhs", "sys_fortran", "sys_lower", "sys_integers", "sys_f32",
                 "sys_one_block", "sys_matlab_one", "sys_matlab", "sys_chunked")):
        check(name + ".h5", "f64")
        check(name + ".h5", PRECISIONS[1 + number % 2])


def methods():
    """Every method, on sizes with and without remainders, more threads than blocks; each meets every
    size and, on different ones, every precision."""
    for number, (N, n, nrhs) in enumerate(((1, 1, 0), (2, 3, 1), (37, 5, 2), (64, 1, 0), (10, 20, 3))):
        run("generate", "blocktri", "-o", "g.h5", "--N", str(N), "--n", str(n),
            *(["--nrhs", str(nrhs)] if nrhs else []))
        with h5py.File("g.h5") as f:
            assert f["b"].shape == ((N, n, nrhs) if nrhs else (N, n))
            values = np.linalg.eigvalsh(dense(*system("g.h5")[:2]))
            assert values[0] > 0.0999 and values[-1] < 16
        for turn, method in enumerate(METHODS):
            check("g.h5", PRECISIONS[(number + turn) % 3], "--method", method, "--threads", "3")


def refine():
    """--refine is --precision mixed, to the bit."""
    one, other = solve("sys.h5", "--refine"), solve("sys.h5", "--precision", "mixed")
    assert np.array_equal(one["x"], other["x"])


def extremes():
    """Numbers whose squares leave the range of doubles: the judgement stays what it is."""
    D, L, b = system("sys.h5")
    judged = []
    for exponent in (0, -400, 400, 800):
        with h5py.File("e.h5", "w") as f:
            f["D"], f["L"], f["b"] = np.ldexp(D, exponent), np.ldexp(L, exponent), b
        x = solve("e.h5", "--method", "sequential")["x"]
        assert np.array_equal(np.ldexp(x, exponent), solve("sys.h5", "--method", "sequential")["x"])
        solve("e.h5", "--method", "sequential")
        with h5py.File("out.h5") as f:
            judged.append((f.attrs["backward_error"], f.attrs["relative_residual"],
                           f.attrs["residual"]))
    assert np.allclose(judged, judged[0], rtol=1e-12) and judged[0][0] > 0, judged


def beyond_the_range():
    """Near the ends of their range numbers are lost: that is told, and nothing is written."""
    D, L, b = system("sys.h5")
    for precision, matrix, side, code in (("f64", -1022, 0, 1), ("f64", 0, -1040, 1), ("f32", -124, -60, 1),
                                          ("f32", 0, -135, 3)):
        with h5py.File("e.h5", "w") as f:
            f["D"], f["L"], f["b"] = np.ldexp(D, matrix), np.ldexp(L, matrix), np.ldexp(b, side)
        if os.path.exists("out.h5"):
            os.remove("out.h5")
        done = subprocess.run([kalscan, "solve", "e.h5", "-o", "out.h5", "--precision", precision],
                              capture_output=True, text=True)
        assert done.returncode == code and not os.path.exists("out.h5"), (precision, matrix, side, done)
        assert re.search("too near the ends|not positive|too small", done.stderr), done.stderr


def noted(D, L, b, *options, U=None):
    """Whether the solution of a system comes with a note that it may have no correct digit; None if there is none."""
    with h5py.File("noted.h5", "w") as f:
        f["D"], f["L"], f["b"] = D, L, b
        if U is not None:
            f["U"] = U
    done = subprocess.run([kalscan, "solve", "noted.h5", "-o", "out.h5", "--force", *options], capture_output=True,
                          text=True, check=False)
    if "not positive definite" in done.stderr:
        return None
    assert done.returncode == 0, done.stderr
    assert done.stderr == "" or "condition number" in done.stderr, done.stderr
    return done.stderr != ""


def lost_digits():
    """That is noted where condition numbers are beyond the precision, for units of rows and columns that differ by 1e12
    it is not. What is noted has no digit, what is not has some."""
    N, n, found = 6, 4, 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        G = np.zeros((N, n, N, n))
        for i in range(N):
            G[i, :, i] = 0.3 * np.tril(rng.normal(size=(n, n))) + np.eye(n)
            if i > 0:
                G[i, :, i - 1] = 0.3 * rng.normal(size=(n, n))
        G = G.reshape(N * n, N * n)
        values = np.linalg.eigvalsh(G @ G.T)
        units = 10.0 ** rng.integers(-6, 7, N * n)
        for condition, apart in ((1e2, 1), (1e4, 1), (1e4, units), (1e10, 1), (1e10, units)):
            A = G @ G.T - (values[0] - values[-1] / condition) * np.eye(N * n)
            A = A * apart * np.reshape(apart, (-1, 1) if np.ndim(apart) else ())
            b = rng.normal(size=N * n) * np.sqrt(np.diag(A))
            blocks = A.reshape(N, n, N, n)
            D, L = [blocks[i, :, i] for i in range(N)], [blocks[i + 1, :, i] for i in range(N - 1)]
            exact = np.linalg.solve(A, b) * np.sqrt(np.diag(A))
            for precision in ("f32", "f64"):
                lost = noted(D, L, b.reshape(N, n), "--precision", precision)
                if lost is None:
                    continue
                found += lost
                with h5py.File("out.h5") as f:
                    error = abs(f["x"][()].ravel() * np.sqrt(np.diag(A)) - exact).max() / abs(exact).max()
                assert lost == (condition > 1e9 and precision == "f32") and (error > 0.1) == lost, (condition, error)
    assert found > 2
    # Rows that add up to zero, but for round-off, and to a little; b is far from what A reaches.
    for n, little in itertools.product((3, 12), (0, 1e-6)):
        rng = np.random.default_rng(n)
        D, L, U = (rng.random((count, n, n)) for count in (5, 4, 4))
        for i in range(5):
            beside = (L[i - 1].sum(1) if i > 0 else 0) + (U[i].sum(1) if i < 4 else 0)
            D[i] -= np.diag(D[i].sum(1) + beside - little)
        A = np.zeros((5, n, 5, n))
        for i in range(5):
            A[i, :, i] = D[i]
            if i < 4:
                A[i + 1, :, i], A[i, :, i + 1] = L[i], U[i]
        b = np.linalg.svd(A.reshape(5 * n, 5 * n))[0][:, -1].reshape(5, n)
        for method in ("auto", "banded-lu"):
            assert noted(D, L, b, "--method", method, U=U) == (little == 0), (n, little, method)


def told():
    """How a solution came about stands in its file: segments of a partition, iterations of a method for general
    systems, also where there were none."""
    run("generate", "blocktri", "-o", "told.h5", "--N", "9", "--n", "2")
    with h5py.File("told.h5") as f, h5py.File("zero.h5", "w") as g:
        g["D"], g["L"], g["b"] = f["D"][()], f["L"][()], 0 * f["b"][()]
    for source, options, attributes in (
            ("told.h5", ["--method", "partition", "--segments", "3"], {"segments": 3}),
            ("told.h5", ["--method", "sequential"], {}),
            ("told.h5", ["--method", "block-lu"], {"iterations": 0}),
            ("zero.h5", ["--method", "cg"], {"iterations": 0})):
        solve(source, *options)
        with h5py.File("out.h5") as f:
            assert {key: f.attrs[key] for key in ("segments", "iterations") if key in f.attrs} == attributes, options


def slabs():
    """Arrays longer than a slab, in both layouts, chunked or not."""
    run("generate", "blocktri", "-o", "long.h5", "--N", "2000", "--n", "30", "--nrhs", "20")
    with h5py.File("long.h5") as f, h5py.File("turned.h5", "w") as g:
        for key in ("D", "L", "b"):
            g.create_dataset(key, data=np.swapaxes(f[key][()], 1, 2), chunks=True, compression=1)
        g.attrs["layout"] = "fortran"
    one = solve("long.h5", "--method", "twisted")
    other = solve("turned.h5", "--method", "twisted", "--compress", "1")
    assert np.array_equal(one["x"], np.swapaxes(other["x"], 1, 2))
    assert one["logdet"] == other["logdet"]


def axes():
    solve("sys.h5", "--inverse-blocks", "--compress", "4")
    names = {"x": ["block", "row", "rhs"], "S_diag": ["block", "row", "row_2"],
             "S_lag": ["coupling", "row", "row_2"]}
    with h5py.File("out.h5") as f:
        for key, expected in names.items():
            dims = f[key].dims
            assert [d.label for d in dims] == expected, key
            assert all(d.label in d.keys() for d in dims)
        assert f["S_diag"].compression == "gzip"
    solve("sys_fortran.h5")
    with h5py.File("out.h5") as f:
        assert [d.label for d in f["x"].dims] == ["block", "rhs", "row"]


def attributes():
    run("solve", "sys.h5", "-o", "a.h5", "--method", "partition", "--refine", "--threads", "1")
    expected = dict(program="kalscan", input="sys.h5", job="solve", layout="c", method="partition",
                    backend="cpu", precision="mixed", threads=1)
    with h5py.File("a.h5") as f:
        for key, value in expected.items():
            assert f.attrs[key] == value, (key, f.attrs[key])
        assert f.attrs["command_line"].startswith("kalscan solve sys.h5 -o a.h5 --method")
        assert f.attrs["version"] and f.attrs["refinement_steps"] >= 1
        A, b = dense(*system("sys.h5")[:2]), system("sys.h5")[2].reshape(15, 2)
        x = f["x"][()].reshape(15, 2)
        size = np.linalg.norm(A) * np.linalg.norm(x) + np.linalg.norm(b)
        assert np.isclose(f.attrs["residual"] / size, f.attrs["backward_error"], rtol=1e-9)
        assert np.isclose(f.attrs["residual"] / np.linalg.norm(b), f.attrs["relative_residual"],
                          rtol=1e-9)
        assert abs(np.linalg.norm(A @ x - b) - f.attrs["residual"]) < 1e-14


with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.executable, "-B", here + "/make_files.py", folder], check=True)
    os.chdir(folder)
    for check_one in (forms, methods, refine, extremes, beyond_the_range, lost_digits, told, slabs, axes, attributes):
        check_one()
        print("ok", check_one.__name__)
