"""General systems and the queue against dense linear algebra: every method on dense, compact and
mixed files, hostile triples, and the M/M/n+k model from its own definition. usage: check_general.py
KALSCAN"""
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import zlib

import h5py
import numpy as np

kalscan = os.path.abspath(sys.argv[1])
DIRECT = ["block-lu", "block-cyclic-reduction", "low-rank-lu", "banded-lu"]
METHODS = ["auto", "block-jacobi", "block-gauss-seidel", "red-black", "bicgstab", "gmres", *DIRECT]


def run(*arguments):
    return subprocess.run([kalscan, *arguments], capture_output=True, text=True, check=False)


def accurate(method):
    """Options for all digits: what iterates is told when to end."""
    return ["--method", method, *([] if method in DIRECT else ["--tol", "1e-13"])]


def solved(source, *options):
    done = run("solve", source, "-o", "x.h5", "--force", "--json", *options)
    assert done.returncode == 0, (source, options, done.stderr)
    with h5py.File("x.h5") as f:
        return f["x"][()], json.loads(done.stdout)


def dense(D, L, U):
    N, n, _ = D.shape
    A = np.zeros((N, n, N, n))
    for i in range(N):
        A[i, :, i] = D[i]
    for i in range(N - 1):
        A[i + 1, :, i], A[i, :, i + 1] = L[i], U[i]
    return A.reshape(N * n, N * n)


def diagonals(D):
    """(N, n, n) to (N, 3, n); what is not read is NaN."""
    out = np.full((len(D), 3, D.shape[1]), np.nan)
    for k, (first, last) in enumerate([(1, None), (0, None), (0, -1)]):
        out[:, k, slice(first, last)] = np.diagonal(D, k - 1, 1, 2)
    return out


def write_triples(f, name, blocks, rng):
    """Half of each value twice, in random order."""
    block, row, col = np.nonzero(blocks)
    order = rng.permutation(2 * len(block)) % len(block)
    group = f.create_group(name)
    group["block"], group["row"] = block[order].astype("u2"), row[order].astype("f4")
    group["col"], group["value"] = col[order], blocks[block, row, col][order] / 2


def check_forms():
    """All forms of one system have one solution."""
    rng = np.random.default_rng(5)
    N, n = 6, 5
    D = np.triu(np.tril(rng.normal(size=(N, n, n)), 1), -1) + 6 * np.eye(n)
    L, U = (rng.normal(size=(N - 1, n, n)) * (rng.random((N - 1, n, n)) < 0.3) for _ in range(2))
    b = rng.normal(size=(N, n, 2))
    x = np.linalg.solve(dense(D, L, U), b.reshape(N * n, 2)).reshape(b.shape)
    for number, form in enumerate(itertools.product([0, 1], [0, 1], [0, 1])):
        name = f"form{number}.h5"
        with h5py.File(name, "w") as f:
            f["b"] = b
            f["D_dia" if form[0] else "D"] = diagonals(D) if form[0] else D
            for compact, key, blocks in ((form[1], "L", L), (form[2], "U", U)):
                if compact:
                    write_triples(f, key, blocks, rng)
                else:
                    f[key] = blocks
        for method in METHODS:
            found, summary = solved(name, *accurate(method))
            assert np.allclose(found, x, rtol=0, atol=1e-11), (form, method)
            assert summary["relative_residual"] <= 1e-13
            assert summary["method"] != "auto"
    with h5py.File("fortran.h5", "w") as f:
        f.attrs["layout"] = "fortran"
        f["D_dia"], f["b"] = np.swapaxes(diagonals(D), 1, 2), np.swapaxes(b, 1, 2)
        f["L"], f["U"] = np.swapaxes(L, 1, 2), np.swapaxes(U, 1, 2)
    assert np.allclose(np.swapaxes(solved("fortran.h5")[0], 1, 2), x, rtol=0, atol=1e-8)
    with h5py.File("symmetric.h5", "w") as f:
        f["D_dia"], f["b"] = diagonals(np.tril(D)), b
        write_triples(f, "L", L, rng)
    symmetric = dense(np.tril(D) + np.swapaxes(np.tril(D, -1), 1, 2), L, np.swapaxes(L, 1, 2))
    x = np.linalg.solve(symmetric, b.reshape(N * n, 2)).reshape(b.shape)
    for method in METHODS + ["cg"]:
        found = solved("symmetric.h5", *accurate(method))[0]
        assert np.allclose(found, x, rtol=0, atol=1e-11), method


def check_dry_run():
    """A dry run tells the method and the bytes of the run itself, and what options are for nothing."""
    rng = np.random.default_rng(7)
    N, n = 5, 40
    D, L, U = (rng.normal(size=(count, n, n)) for count in (N, N - 1, N - 1))
    sources = {"full.h5": D + 40 * np.eye(n), "narrow.h5": np.triu(np.tril(D, 1), -1) + 40 * np.eye(n)}
    for source, blocks in sources.items():
        with h5py.File(source, "w") as f:
            f["D"], f["L"], f["U"], f["b"] = blocks, L, U, rng.normal(size=(N, n))
        for method in METHODS:
            told = json.loads(run("solve", source, "--dry-run", "--json", "--method", method).stdout)
            made = solved(source, "--method", method)[1]
            assert (told["dry_run"], made["dry_run"]) == (True, False)
            for name in ("method", "backend", "threads", "bytes"):
                assert told[name] == made[name], (source, method, name, told[name], made[name])
        for solver in ("auto", "thomas", "lu", "cyclic-reduction", "parallel-cyclic-reduction"):
            idle = source == "full.h5" and solver not in ("auto", "lu")
            for end in (["--dry-run"], ["-o", "x.h5", "--force"]):
                done = run("solve", source, "--method", "bicgstab", "--block-solver", solver, *end)
                assert done.returncode == 0 and ("no diagonal block is tridiagonal" in done.stderr) == idle, done
    assert json.loads(run("solve", "full.h5", "--dry-run", "--json").stdout)["method"] != "auto"
    for option, value in (("--relaxation", "1.5"), ("--relaxation", "estimate"), ("--block-solver", "thomas")):
        done = run("solve", "narrow.h5", "--dry-run", "--method", "red-black", "--backend", "cuda", option, value)
        assert done.returncode == 2 and done.stderr.startswith(f"kalscan: {option}"), done


def check_hostile():
    """Content that is wrong: exit 3, and the message names the place."""
    good = {"block": [0, 1], "row": [1, 0], "col": [0, 1], "value": [0.5, 0.25]}

    def refuse(expected, change=None, **others):
        with h5py.File("bad.h5", "w") as f:
            f["D_dia"], f["b"] = np.ones((3, 3, 2)) + [[0], [3], [0]], np.ones((3, 2))
            for key in ("L", "U"):
                for name, values in {**good, **(change or {} if key == "L" else {})}.items():
                    if values is not None:
                        f[f"{key}/{name}"] = np.array(values)
            for name, values in others.items():
                if name in f:
                    del f[name]
                f[name] = values
        done = run("solve", "bad.h5", "-o", "none.h5")
        assert done.returncode == 3 and expected in done.stderr, (expected, done.stderr)
        assert run("info", "bad.h5").returncode == 3
        assert not os.path.exists("none.h5")

    refuse("/L/block[1] is 2, expected a whole number of 0 .. 1", {"block": [0, 2]})
    refuse("/L/row[0] is -1, expected a whole number of 0 .. 1", {"row": [-1, 0]})
    refuse("/L/col[1] is 1.5, expected a whole number", {"col": [0, 1.5]})
    refuse("/L/col[0] is nan, expected a whole number", {"col": [np.nan, 1]})
    refuse("/L/row[1] is", {"row": np.array([0, 2**64 - 1], "u8")})
    refuse("/L/value[1] is NaN, expected a finite number", {"value": [1, np.nan]})
    refuse("/L/value[0] is infinite", {"value": [-np.inf, 1]})
    refuse("/L/value has shape (3,), expected (2,) as that of /L/block", {"value": [1, 2, 3]})
    refuse("/L/row has shape (1, 2), expected", {"row": [[1, 0]]})
    refuse("/L/col is missing", {"col": None})
    refuse("/L/row holds strings", {"row": np.array([b"a", b"b"])})
    refuse("/D_dia[1, 1, 0] is NaN", D_dia=np.where(np.arange(18).reshape(3, 3, 2) == 8, np.nan, 4.0))
    refuse("/D_dia has shape (3, 2, 2), expected (N, 3, n)", D_dia=np.ones((3, 2, 2)))
    refuse("has both /D and /D_dia", D=np.ones((3, 2, 2)))


def generator(N, k, rate):
    """Q over states (i, j), from the words of the model: rows are states that are left."""
    states = [(i, j) for j in range(1, N + 1) for i in range((j - 1) * k, (j + 1) * k + 1)]
    index = {s: at for at, s in enumerate(states)}
    Q = np.zeros((len(states), len(states)))
    for (i, j), at in index.items():
        arrival = rate["lambda"] if i <= j * k else 0
        service = k * rate["mu"] if i > j * k else rate["mu"] if i < j else i // k * rate["mu"]
        on = -((j * k - i) // k) * rate["eta"] if i > j * k else 0
        off = (j * k - i) // k * rate["nu"] if i < j * k else 0
        for to, value in (((i + 1, j), arrival), ((i - 1, j), service), ((i, j + 1), on),
                          ((i, j - 1), off)):
            if to in index and to[0] >= 0 and value:
                Q[at, index[to]] += value
    Q -= np.diag(Q.sum(1))
    return states, Q


def recurrent(Q):
    """States from which every state they reach is reached back; they must be one class."""
    reach = (Q != 0) | np.eye(len(Q), dtype=bool)
    for _ in range(int(np.ceil(np.log2(len(Q)))) + 1):
        reach = (reach.astype(float) @ reach.astype(float)) > 0
    members = [s for s in range(len(Q)) if not np.any(reach[s] & ~reach[:, s])]
    assert all(reach[a, b] for a in members for b in members)
    return members


def check_queue(N, k, **given):
    rate = {"lambda": N / 2, "mu": 1.0, "eta": 1.0, "nu": 1.0, **given}
    options = [x for key, value in rate.items() for x in (f"--{key}", str(value))]
    done = run("generate", "queue", "--servers", str(N), "--capacity", str(k), *options, "-o",
               "queue.h5", "--force", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    with h5py.File("queue.h5") as f:
        pi, N_n = f["pi"][()].ravel(), f["pi"].shape
    states, Q = generator(N, k, rate)
    assert N_n == (N, 2 * k + 1)
    null = np.linalg.svd(Q.T)[2][-1]
    null /= null.sum()
    assert np.all(pi >= 0) and abs(pi.sum() - 1) < 1e-12
    assert np.abs(pi - null).max() < 1e-9, np.abs(pi - null).max()
    assert np.abs(pi @ Q).max() <= 1e-10 * np.abs(Q).max()
    members = recurrent(Q)
    rest = np.setdiff1d(np.arange(len(pi)), members)
    assert np.all(pi[members] > 0) and np.all(pi[rest] == 0)
    best = states[int(np.argmax(pi > pi.max() * (1 - 1e-12)))]
    assert (told["most_probable_tasks"], told["most_probable_servers"]) == best
    assert np.isclose(told["servers_in_advance"], best[0] / k)
    assert np.isclose(told["mean_tasks"], sum(p * s[0] for p, s in zip(pi, states)))
    x = solved("queue.h5", "--method", "block-lu")[0].ravel()
    assert np.abs(x / x.sum() - pi).max() < 1e-9


def check_extremes():
    """Balances at either end, and a distribution whose tails leave the range of a double."""
    for options in (["--lambda", "1e-6"], ["--lambda", "1e6"], ["--nu", "1e-6"], ["--eta", "1e-6"],
                    ["--servers", "500", "--capacity", "8"]):
        done = run("generate", "queue", *options, "-o", "queue.h5", "--force", "--json")
        assert done.returncode == 0, (options, done.stderr)
        assert json.loads(done.stdout)["residual"] < 1e-11, options
        with h5py.File("queue.h5") as f:
            assert f["pi"][()].min() >= 0 and abs(f["pi"][()].sum() - 1) < 1e-12, options


def without_subtraction(Q):
    """The stationary distribution by elimination that adds, multiplies and divides alone, and so keeps all digits
    (Grassmann, Taksar and Heyman, Operations Research 33(5), 1985)."""
    rate = Q - np.diag(np.diag(Q))
    for k in range(len(rate) - 1, 0, -1):
        rate[:k, k] /= rate[k, :k].sum()
        rate[:k, :k] += np.outer(rate[:k, k], rate[k, :k])
    pi = np.ones(len(rate))
    for k in range(1, len(rate)):
        pi[k] = pi[:k] @ rate[:k, k]
    return pi / pi.sum()


def check_scales():
    """Rates that differ by up to seventeen orders of magnitude: the distribution has all its digits, where a small
    residual says nothing."""
    for N, k, rates in ((5, 2, (2.5e-12, 1e-12, 1, 1)), (20, 4, (1e-5, 1e-6, 1, 1)), (40, 3, (20, 1, 1e-9, 1e-9)),
                        (40, 3, (20, 1, 1e6, 1e6)), (20, 4, (1e10, 1e9, 1, 1)), (17, 5, (1e-6, 2e-8, 5e-5, 9e8)),
                        (5, 4, (1.6e10, 4e9, 1, 100)), (7, 1, (1e4, 1e-2, 1e3, 1e11)), (21, 2, (7e-3, 1e-4, 1, 90))):
        rate = dict(zip(("lambda", "mu", "eta", "nu"), rates))
        done = run("generate", "queue", "--servers", str(N), "--capacity", str(k), "-o", "queue.h5", "--force",
                   *(x for key, value in rate.items() for x in (f"--{key}", str(value))))
        assert done.returncode == 0, (rate, done.stderr)
        with h5py.File("queue.h5") as f:
            pi = f["pi"][()].ravel()
        Q = generator(N, k, rate)[1]
        # The likeliest states are eliminated last.
        members = np.array(sorted(recurrent(Q), key=lambda s: -pi[s]))
        exact = np.zeros(len(pi))
        exact[members] = without_subtraction(Q[np.ix_(members, members)])
        assert np.abs(pi - exact).sum() < 1e-12, (rate, np.abs(pi - exact).sum())


def check_lost_digits():
    """Blocks that are small beside their couplings cost elimination its digits: it refines, or refuses."""
    rng = np.random.default_rng(1)
    N, n = 4, 3
    D, L, U, b = (rng.normal(size=(N - (name in "LU"), n, n)[:3 - (name == "b")]) for name in "DLUb")
    D = D + 4 * np.eye(n)
    D[:2] *= 1e-22
    with h5py.File("lost.h5", "w") as f:
        f["D"], f["L"], f["U"], f["b"] = D, L, U, b
    exact = np.linalg.solve(dense(D, L, U), b.ravel())
    x, told = solved("lost.h5", "--method", "block-lu")
    assert np.allclose(x.ravel(), exact, rtol=1e-8), x.ravel() - exact
    told = run("solve", "lost.h5", "--method", "block-lu", "-o", "x.h5", "--force").stdout
    assert re.search("[1-9][0-9]* steps? of refinement", told), told
    done = run("solve", "lost.h5", "--method", "block-cyclic-reduction", "-o", "none.h5")
    assert done.returncode == 1 and "lost too much" in done.stderr and not os.path.exists("none.h5"), done
    assert "--method banded-lu" in done.stderr
    x, told = solved("lost.h5", "--method", "banded-lu")
    assert np.allclose(x.ravel(), exact, rtol=1e-12) and told["iterations"] == 0, x.ravel() - exact


def check_singular_blocks():
    """Systems that are regular though diagonal blocks are not: `auto` solves them all, and says in a note and in its
    summary that it has gone on with another method than it chose. With n = 3 and 12 it chooses different ones."""
    rng = np.random.default_rng(2)
    gone_on = 0
    for N, n in ((2, 1), (7, 1), (4, 3), (5, 3), (3, 12), (6, 12)):
        for kind in ("hollow", "left"):
            L, U = (rng.integers(-3, 4, (N - 1, n, n)) + 4.0 * np.eye(n) for _ in range(2))
            D = rng.integers(-3, 4, (N, n, n)) + np.zeros((N, n, n))
            if kind == "hollow":
                D[:-1] = 0
            else:
                D[0], D[1] = np.eye(n), L[0] @ U[0]
            if np.linalg.matrix_rank(dense(D, L, U)) < N * n:
                continue
            b = rng.normal(size=(N, n))
            exact = np.linalg.solve(dense(D, L, U), b.ravel())
            with h5py.File("regular.h5", "w") as f:
                f["D"], f["L"], f["U"], f["b"] = D, L, U, b
            for method in ("auto", "banded-lu"):
                done = run("solve", "regular.h5", "-o", "x.h5", "--force", "--json", "--method", method)
                assert done.returncode == 0, (N, n, kind, method, done.stderr)
                told = json.loads(done.stdout)
                with h5py.File("x.h5") as f:
                    assert np.allclose(f["x"][()].ravel(), exact, rtol=1e-8, atol=1e-8 * abs(exact).max())
                    assert f.attrs["method"] == told["method"]
                assert not done.stderr or (method == "auto" and told["method"] == "banded-lu"), done.stderr
                gone_on += "auto goes on with banded-lu" in done.stderr
    assert gone_on > 0


def check_size():
    """LAPACK counts rows in 32 bits: 2^31 of them are refused before any is read. One chunk stands in all places."""
    with h5py.File("rows.h5", "w") as f:
        for name, shape in (("D_dia", (65536, 3, 32768)), ("b", (65536, 32768))):
            chunk = (512, *shape[1:])
            data = f.create_dataset(name, shape, "i1", chunks=chunk, compression=1)
            packed = zlib.compress(bytes(int(np.prod(chunk))), 1)
            for at in range(0, 65536, 512):
                data.id.write_direct_chunk((at,) + (0,) * (len(shape) - 1), packed)
        for group in "LU":
            for name in ("block", "row", "col", "value"):
                f[f"{group}/{name}"] = [0]
    done = run("solve", "rows.h5", "-o", "none.h5", "--method", "banded-lu")
    assert done.returncode == 2 and "LAPACK counts up to 2147483647 rows" in done.stderr, done
    os.remove("rows.h5")


def check_figure():
    """The heights of what is drawn are the distributions of tasks and of servers."""
    N, k = 12, 3
    done = run("generate", "queue", "--servers", str(N), "--capacity", str(k), "-o", "queue.h5", "--plot",
               "queue.svg", "--force")
    assert done.returncode == 0, done.stderr
    with h5py.File("queue.h5") as f:
        pi = f["pi"][()]
    tasks = np.zeros((N + 1) * k + 1)
    for j in range(N):
        tasks[j * k:(j + 2) * k + 1] += pi[j]
    text = open("queue.svg", encoding="utf-8").read()
    assert all(word in text for word in ("pending tasks", "servers on", "stationary probability"))
    for colour, expected in (("0, *114, *178", tasks), ("213, *94, *0", pi.sum(1))):
        path = re.search(rf"stroke='rgb\( *{colour}\)'[^>]*d='([^']*)'", text).group(1)
        lines = np.array(re.findall(r"M([\d.]+),([\d.]+)\s+L([\d.]+),([\d.]+)", path), float)
        heights = lines[:, 1] - lines[:, 3]
        # What is lower than a hundredth of a pixel is left out.
        drawn = expected[expected >= np.sort(expected)[-len(heights)]] / expected.max()
        assert len(heights) > len(expected) / 2 and np.all(np.diff(lines[:, 0]) > 0)
        assert np.all(expected[expected < drawn.min() * expected.max()] < 1e-4)
        assert np.abs(heights / heights.max() - drawn).max() < 1e-3


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check_forms()
        check_dry_run()
        check_hostile()
        check_lost_digits()
        check_singular_blocks()
        check_size()
        for N, k in ((1, 1), (1, 4), (2, 1), (3, 1), (4, 3), (9, 4)):
            check_queue(N, k)
        check_queue(6, 3, **{"lambda": 0.5, "eta": 0.1, "nu": 3.0})
        check_queue(6, 3, **{"lambda": 9.0, "mu": 0.7, "eta": 5.0, "nu": 0.2})
        check_extremes()
        check_scales()
        check_figure()
        os.chdir("/")
    print("general systems and queues agree with dense linear algebra")


if __name__ == "__main__":
    main()
