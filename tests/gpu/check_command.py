"""`kalscan solve --backend cuda` on the emulated device: what it writes is what the CPU's methods find, and
says where it ran. usage: check_command.py KALSCAN"""
import json
import os
import subprocess
import sys
import tempfile

import h5py
import numpy as np

kalscan = os.path.abspath(sys.argv[1])
here = os.path.dirname(os.path.abspath(__file__))


def run(*arguments):
    return subprocess.run([kalscan, *arguments], capture_output=True, text=True)


def solve(source, *options):
    """Solution and log-determinant, with what the summary says."""
    done = run("solve", source, "-o", "out.h5", "--json", "--force", *options)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    with h5py.File("out.h5") as f:
        assert f.attrs["backend"] == told["backend"]
        return told, f["x"][()], f["logdet"][()] if "logdet" in f else None


def same(source, tolerance, cpu, cuda, method):
    _, expected, logdet = solve(source, *cpu)
    told, x, found = solve(source, "--backend", "cuda", *cuda)
    assert told["backend"] == "cuda" and told["method"] == method, told
    assert x.dtype == expected.dtype and x.shape == expected.shape
    assert np.abs(x - expected).max() <= tolerance * np.abs(expected).max(), source
    assert (logdet is None) == (found is None)
    assert logdet is None or abs(found - logdet) <= tolerance * abs(logdet)


def cholesky():
    for form in ("sys.h5", "sys_fortran.h5"):
        same(form, 1e-12, [], [], "nested-dissection")
        same(form, 1e-4, ["--precision", "f32"], ["--precision", "f32", "--method", "nested-dissection"],
             "nested-dissection")
    done = run("generate", "blocktri", "--N", "37", "--n", "9", "--nrhs", "3", "-o", "random.h5")
    assert done.returncode == 0, done.stderr
    same("random.h5", 1e-12, [], ["--device", "1"], "nested-dissection")


def general():
    done = run("generate", "queue", "--servers", "8", "--capacity", "3", "-o", "cloud.h5")
    assert done.returncode == 0, done.stderr
    for method in ("red-black", "block-jacobi"):
        same("cloud.h5", 1e-6, ["--method", "block-lu"], ["--method", method, "--tol", "1e-12"], method)


def refused():
    for options, code, text in (
            (["sys_indefinite.h5"], 1, "not positive definite"),
            (["sys.h5", "--device", "2"], 5, "no CUDA device 2"),
            (["cloud.h5", "--method", "red-black", "--max-iter", "2"], 1, "nothing is written")):
        done = run("solve", *options, "--backend", "cuda", "-o", "none.h5")
        assert done.returncode == code and text in done.stderr, (options, done.stderr)
        assert not os.path.exists("none.h5")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    subprocess.run([sys.executable, "-B", os.path.join(here, "..", "cli", "make_files.py"), "."], check=True)
    cholesky()
    general()
    refused()
