"""`kalscan --backend cuda` on the emulated device: what it writes is what the CPU's methods find, and
says where it ran. usage: check_command.py KALSCAN"""
import json
import os
import re
import subprocess
import sys
import tempfile

import h5py
import numpy as np

kalscan = os.path.abspath(sys.argv[1])
here = os.path.dirname(os.path.abspath(__file__))


def run(*arguments, **emulated):
    """With what the emulated device reads from the environment, see tests/gpu/emulator/emulator.h."""
    environment = {"KS_EMULATED_" + name.upper(): str(value) for name, value in emulated.items()}
    return subprocess.run([kalscan, *arguments], capture_output=True, text=True, env={**os.environ, **environment})


def solve(source, *options):
    """Solution and log-determinant, with what the summary says."""
    done = run("solve", source, "-o", "out.h5", "--json", "--force", *options)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    with h5py.File("out.h5") as f:
        assert f.attrs["backend"] == told["backend"]
        return told, f["x"][()], f["logdet"][()] if "logdet" in f else None


def same(source, tolerance, cpu, cuda, method, of_x=None):
    on_cpu, expected, logdet = solve(source, *cpu)
    told, x, found = solve(source, "--backend", "cuda", *cuda)
    assert told["backend"] == "cuda" and told["method"] == method, told
    assert x.dtype == expected.dtype and x.shape == expected.shape
    assert np.abs(x - expected).max() <= (of_x or tolerance) * np.abs(expected).max(), source
    assert (logdet is None) == (found is None)
    assert logdet is None or abs(found - logdet) <= tolerance * abs(logdet)
    return on_cpu, told


def cholesky():
    for form in ("sys.h5", "sys_fortran.h5"):
        same(form, 1e-12, [], [], "nested-dissection")
        same(form, 1e-4, ["--precision", "f32"], ["--precision", "f32", "--method", "nested-dissection"],
             "nested-dissection")
    done = run("generate", "blocktri", "--N", "37", "--n", "9", "--nrhs", "3", "-o", "random.h5")
    assert done.returncode == 0, done.stderr
    same("random.h5", 1e-12, [], ["--device", "1"], "nested-dissection")
    same("random.h5", 1e-12, [], ["--method", "recursive-schur"], "recursive-schur")
    inverted("random.h5", 1e-12)
    # Cheap ends, in as many segments as are asked for.
    cheap = ["--method", "partition"]
    for segments, cut in (([], (4, 10)), (["--segments", "2"], (2, 2)), (["--segments", "1e6"], (19, 19))):
        both = same("random.h5", 1e-12, cheap + segments, cheap + segments, "partition")
        assert tuple(told["segments"] for told in both) == cut, both
    same("random.h5", 1e-4, ["--precision", "f32"], ["--precision", "f32", *cheap], "partition")
    same("random.h5", 1e-5, [], ["--precision", "mixed", *cheap], "partition", 1e-13)
    inverted("random.h5", 1e-12, *cheap, "--segments", "4")
    # Refined to double, but for the log-determinant and the inverse.
    same("random.h5", 1e-5, [], ["--precision", "mixed"], "nested-dissection", 1e-13)
    inverted("random.h5", 1e-5, "--precision", "mixed")
    done = run("generate", "blocktri", "--N", "3", "--n", "70", "-o", "large_blocks.h5")
    assert done.returncode == 0, done.stderr
    same("large_blocks.h5", 1e-12, [], [], "nested-dissection")


def inverted(source, tolerance, *options_of_device):
    """The blocks of the inverse, for which small blocks take the kernels of large ones."""
    blocks = []
    for options in ([], ["--backend", "cuda", *options_of_device]):
        solve(source, "--inverse-blocks", *options)
        with h5py.File("out.h5") as f:
            blocks.append((f["S_diag"][()], f["S_lag"][()], f["x"][()]))
    for expected, found in zip(*blocks):
        assert np.abs(found - expected).max() <= tolerance * np.abs(expected).max()


def general():
    done = run("generate", "queue", "--servers", "8", "--capacity", "3", "-o", "cloud.h5")
    assert done.returncode == 0, done.stderr
    for method in ("red-black", "block-jacobi"):
        same("cloud.h5", 1e-6, ["--method", "block-lu"], ["--method", method, "--tol", "1e-12"], method)
        told = json.loads(run("solve", "cloud.h5", "--dry-run", "--json", "--method", method, "--backend", "cuda").stdout)
        assert (told["backend"], told["method"]) == ("cuda", method), told
        # Dense blocks, of which a dry run says so, too.
        for end in (["--dry-run"], ["-o", "none.h5"]):
            done = run("solve", "random.h5", "--method", method, "--backend", "cuda", *end)
            assert done.returncode == 2 and "diagonal blocks are tridiagonal" in done.stderr, done


def estimates(command, source, *options):
    """Every dataset of an output in floating point, with what the summary says."""
    done = run(command, source, "-o", "out.h5", "--json", "--force", *options)
    assert done.returncode == 0, done.stderr
    found = {}
    with h5py.File("out.h5") as f:
        told = json.loads(done.stdout)
        assert f.attrs["backend"] == told["backend"] and f.attrs["scan"] == told["scan"]
        f.visititems(lambda name, item: found.update({name: item[()]})
                     if isinstance(item, h5py.Dataset) and item.dtype.kind == "f" else None)
    return told, found


def smoothed():
    """Filters and smoothers: on the device what the CPU finds, all outputs."""
    for command, options, method, scan in (
            ("smooth", ["--lag-one", "--filtered", "--signal"], "scan-rts", "chunked"),
            ("smooth", ["--method", "scan-two-filter", "--lag-one"], "scan-two-filter", "chunked"),
            ("filter", ["--innovations", "--predicted", "--scan", "blelloch"], "scan", "blelloch"),
            ("filter", ["--cov", "diag", "--signal"], "scan", "chunked")):
        for source in ("plain.h5", "series.h5", "x1_out_of.h5"):
            plain = [o for i, o in enumerate(options) if o not in ("--scan", "blelloch", "--method",
                                                                   "scan-two-filter")]
            _, expected = estimates(command, source, *plain)
            told, found = estimates(command, source, "--backend", "cuda", "--device", "1", *options)
            assert (told["backend"], told["method"], told["scan"]) == ("cuda", method, scan), told
            assert found.keys() == expected.keys(), (source, options)
            for name, value in expected.items():
                near = np.allclose(found[name], value, rtol=1e-7, atol=1e-8, equal_nan=True)
                assert near, (command, source, options, name)
    mixed()
    run("generate", "rotation", "-o", "rotation.h5", "--nx", "20", "--T", "6")
    for source, order, made in (("plain.h5", "auto", "partition"), ("series.h5", "partition", "partition"),
                                ("x1_out_of.h5", "nested-dissection", "nested-dissection"),
                                ("rotation.h5", "auto", "nested-dissection")):
        options = ["--method", "blocktri", "--lag-one"]
        _, expected = estimates("smooth", source, *options)
        told, found = estimates("smooth", source, *options, "--order", order, "--backend", "cuda")
        assert (told["backend"], told["method"], told["order"]) == ("cuda", "blocktri", made), told
        assert found.keys() == expected.keys(), source
        for name, value in expected.items():
            near = np.allclose(found[name], value, rtol=1e-7, atol=1e-8, equal_nan=True)
            assert near, (source, order, name)
    for options, code, text in (
            (["--order", "twisted", "--backend", "cuda"], 2, "order twisted has no form for a device"),
            (["--order", "partition", "--backend", "cuda"], 2, "at most 16 states"),
            (["--order", "twisted", "--backend", "auto"], 0, "its order has no form for a device")):
        done = run("smooth", "rotation.h5", "-o", "other.h5", "--method", "blocktri", *options)
        assert done.returncode == code and text in done.stderr, (options, done.stderr)
    done = run("smooth", "large.h5", "--dry-run", "--method", "blocktri", "--backend", "cuda")
    assert done.returncode == 5 and "bytes) on CUDA device 0" in done.stderr, done.stderr
    two = ["--backend", "cuda", "--method", "scan-two-filter"]
    _, expected = estimates("smooth", "plain.h5", *two, "--scan", "ladner-fischer")
    for devices in ("0,1", "1,1"):
        told, found = estimates("smooth", "plain.h5", *two, "--device", devices)
        assert told["scan"] == "ladner-fischer", told
        assert told["devices"] == [int(n) for n in devices.split(",")], told
        assert all(np.array_equal(found[name], value) for name, value in expected.items())
    done = run("smooth", "plain.h5", "-o", "none.h5", *two, "--device", "0,2")
    assert done.returncode == 5 and "no CUDA device 0 or 2" in done.stderr, done.stderr
    done = run("smooth", "large.h5", "--dry-run", *two, "--device", "0,1")
    assert done.returncode == 5 and "each on CUDA device 0 or 1" in done.stderr, done.stderr
    told, _ = estimates("smooth", "plain.h5", "--backend", "auto", "--method", "scan-rts")
    assert (told["backend"], told["scan"]) == ("cuda", "chunked"), told
    done = run("smooth", "plain.h5", "-o", "none.h5", "--backend", "cuda", "--device", "2")
    assert done.returncode == 5 and "no CUDA device 2" in done.stderr and not os.path.exists("none.h5")
    done = run("smooth", "large.h5", "--dry-run", "--backend", "cuda")
    assert done.returncode == 5 and "bytes) on CUDA device 0" in done.stderr, done.stderr
    done = run("smooth", "large.h5", "--dry-run", "--backend", "auto", "--method", "scan-rts")
    assert "the device has too little memory" in done.stderr, done.stderr


def needed(done):
    """Bytes that are needed, and that were free, of a run that was refused for them in one line."""
    assert done.returncode == 5 and done.stderr.count("\n") == 1, (done.returncode, done.stderr)
    found = re.search(r"needs .* \((\d+) bytes\)(?: each)? on CUDA device .*, where .* \((\d+) bytes\) are free",
                      done.stderr)
    assert found, done.stderr
    return int(found[1]), int(found[2])


def without_memory():
    """All of the device's memory is asked for before anything is read, and what is told is what suffices."""
    with h5py.File("random.h5") as source, h5py.File("spoilt.h5", "w") as to:
        for name in ("D", "L", "b"):
            to[name] = source[name][()]
        to["b"][-1] = np.nan
    for options in ([], ["--inverse-blocks"], ["--precision", "mixed"], ["--precision", "mixed", "--inverse-blocks"],
                    ["--method", "partition"], ["--method", "recursive-schur"]):
        bytes_of, free = needed(run("solve", "random.h5", "-o", "none.h5", "--backend", "cuda", *options, memory=7))
        assert free == 7, free
        for memory in (bytes_of - 1, bytes_of):
            done = run("solve", "spoilt.h5", "-o", "none.h5", "--backend", "cuda", *options, memory=memory)
            if memory < bytes_of:
                assert needed(done) == (bytes_of, memory), done.stderr
            else:
                assert done.returncode == 3, (options, done.returncode, done.stderr)
        for fail_at in range(1, 100):
            done = run("solve", "random.h5", "-o", "none.h5", "--backend", "cuda", *options, fail_at=fail_at)
            if done.returncode == 0:
                break
            assert needed(done)[0] == bytes_of and not os.path.exists("none.h5"), done.stderr
        assert fail_at > 8
        os.remove("none.h5")
    for precision in ("f64", "mixed"):
        sizes = ["--n", "5", "--N", "7", "--nrhs", "2", "--repeats", "1", "--precision", precision]
        bytes_of, free = needed(run("bench", "solve", "--backend", "cuda", *sizes, memory=9))
        assert free == 9 and run("bench", "solve", "--backend", "cuda", *sizes, memory=bytes_of).returncode == 0
        assert needed(run("bench", "solve", "--backend", "cuda", *sizes, memory=bytes_of - 1)) == (
            bytes_of, bytes_of - 1)


def failing():
    """A device that is lost, or too old, is exit 5 with one line, and nothing is written; auto goes on without."""
    for options in ([], ["--method", "scan-two-filter", "--device", "0,1"], ["--method", "blocktri"]):
        for lose_at in (1, 7, 30):
            done = run("smooth", "plain.h5", "-o", "lost.h5", "--backend", "cuda", *options, lose_at=lose_at,
                       seed=lose_at % 8)
            assert done.returncode == 5, (options, lose_at, done.returncode, done.stderr)
            assert done.stderr.count("\n") == 1 and "failure" in done.stderr, done.stderr
            assert lose_at < 30 or "(CUDA error 719)" in done.stderr, done.stderr
            assert not [name for name in os.listdir(".") if "lost" in name], os.listdir(".")
    done = run("smooth", "plain.h5", "-o", "old.h5", "--backend", "cuda", old=1)
    assert done.returncode == 5 and done.stderr.count("\n") == 1 and not os.path.exists("old.h5"), done.stderr
    done = run("smooth", "plain.h5", "-o", "old.h5", "--backend", "auto", "--method", "scan-rts", old=1)
    assert done.returncode == 0 and "on the CPU" in done.stderr, done.stderr


def orders():
    """The same bits in whichever order streams run, on one device and two."""
    for command, options in (("smooth", ["--lag-one", "--method", "scan-two-filter", "--device", "0,1"]),
                             ("smooth", ["--scan", "chunked"]), ("filter", ["--scan", "sengupta:4"])):
        found = []
        for seed in range(8):
            done = run(command, "series.h5", "-o", "out.h5", "--force", "--backend", "cuda", *options, seed=seed)
            assert done.returncode == 0, done.stderr
            with h5py.File("out.h5") as f:
                found.append({})
                f.visititems(lambda name, item: found[-1].update({name: item[()]})
                             if isinstance(item, h5py.Dataset) and item.dtype.kind == "f" else None)
        for other in found[1:]:
            assert all(np.array_equal(value, other[name], equal_nan=True) for name, value in found[0].items())


def mixed():
    """Means in double, covariances in single precision, near those of the CPU in double."""
    for command, options, method in (("smooth", ["--lag-one", "--filtered"], "scan-rts"), ("filter", [], "scan"),
                                     ("filter", ["--innovations", "--predicted", "--cov", "diag"], "scan")):
        for source in ("plain.h5", "series.h5", "x1_out_of.h5"):
            _, expected = estimates(command, source, *options)
            for backend in ("cuda", "auto"):
                told, found = estimates(command, source, *options, "--precision", "mixed", "--backend", backend,
                                        "--method", method, "--scan", "chunked")
                assert [told[k] for k in ("backend", "method", "precision")] == ["cuda", method, "mixed"], told
                assert found.keys() == expected.keys(), (source, options)
                for name, value in expected.items():
                    narrow = "cov" in name
                    assert found[name].dtype == (np.float32 if narrow else value.dtype), name
                    near = np.allclose(found[name], value, rtol=1e-5, atol=1e-5, equal_nan=True)
                    assert near, (command, source, options, name)
    bytes_of = {}
    for precision in ("f64", "mixed"):
        told, _ = estimates("smooth", "plain.h5", "--precision", precision, "--backend", "cuda")
        bytes_of[precision] = told["bytes"]["device"]
    assert 0 < bytes_of["mixed"] < bytes_of["f64"], bytes_of
    done = run("smooth", "plain.h5", "-o", "mixed.h5", "--precision", "mixed", "--backend", "auto")
    assert done.returncode == 0 and "runs method sequential on the CPU: --method scan-rts has a form" in done.stderr
    done = run("smooth", "large.h5", "--dry-run", "--precision", "mixed", "--backend", "auto", "--method",
               "scan-rts", "--scan", "chunked")
    assert done.returncode == 5 and "bytes) on CUDA device 0" in done.stderr, done.stderr


def timed():
    for precision in ("f64", "f32", "mixed"):
        done = run("bench", "solve", "--backend", "cuda", "--n", "5", "--N", "7", "--nrhs", "2", "--repeats", "3",
                   "--precision", precision, "--json")
        assert done.returncode == 0, done.stderr
        (told,) = json.loads(done.stdout)
        assert (told["backend"], told["method"], told["precision"]) == ("cuda", "nested-dissection", precision)
        assert told["backward_error"] <= (1e-6 if precision == "f32" else 1e-15), told
        assert told["factor_ms"] > 0 and told["solve_ms"] > 0 and told["repeats"] == 3
    done = run("bench", "solve", "--backend", "cuda", "--n", "2", "--N", "40", "--method", "recursive-schur", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)[0]["method"] == "recursive-schur", done.stderr
    # Each number of segments with each number of rounds in one launch, where the method has segments.
    done = run("bench", "solve", "--backend", "cuda", "--n", "33", "--N", "9", "--repeats", "1", "--json",
               "--method", "nested-dissection,partition", "--segments", "2,3", "--together", "auto,0,2")
    assert done.returncode == 0, done.stderr
    ways = [(r["method"], r.get("segments"), r["together"]) for r in json.loads(done.stdout)]
    assert ways == [("nested-dissection", None, 4), ("nested-dissection", None, 0), ("nested-dissection", None, 2),
                    ("partition", 2, 0), ("partition", 2, 0), ("partition", 2, 1),
                    ("partition", 3, 2), ("partition", 3, 0), ("partition", 3, 2)], ways
    for options, code, text in (
            (["--method", "twisted"], 2, "not method twisted"), (["--segments", "3"], 2, "--method partition only"),
            (["--method", "partition", "--segments", "1"], 2, "at least 2"), (["--device", "2"], 5, "no CUDA device 2"),
            (["--method", "partition", "--n", "1", "--N", "1e6", "--segments", "2"], 2, "more segments")):
        done = run("bench", "solve", "--backend", "cuda", *options)
        assert done.returncode == code and text in done.stderr, (options, done.stderr)


def timed_models():
    """Filters and smoothers, whose scans are in chunks unless it is said."""
    sizes = ["--T", "60", "--nx", "3", "--ny", "2", "--repeats", "1", "--json", "--backend", "cuda"]
    for job, options, expected in (
            ("smooth", [], ("scan-rts", "chunked", "f64")),
            ("smooth", ["--method", "scan-two-filter,blocktri", "--scan", "blelloch"],
             ("scan-two-filter", "blelloch", "f64")),
            ("filter", ["--precision", "mixed", "--device", "1"], ("scan", "chunked", "mixed")),
            ("filter", ["--scan", "sengupta:2", "--precision", "f32", "--batch", "3", "--varying"],
             ("scan", "sengupta:2", "f32"))):
        done = run("bench", job, *sizes, *options)
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert all((r["job"], r["backend"]) == (job, "cuda") and r["median_ns"] > 0 for r in told), told
        assert tuple(told[0][k] for k in ("method", "scan", "precision")) == expected, told
    for options, code, text in ((["--device", "2"], 5, "no CUDA device 2"),
                                (["--method", "sequential"], 2, "no method sequential in f64"),
                                (["--precision", "mixed", "--scan", "blelloch"], 2, "no method auto in mixed")):
        done = run("bench", "smooth", *sizes, *options)
        assert done.returncode == code and text in done.stderr, (options, done.returncode, done.stderr)
    done = run("bench", "smooth", *sizes, memory=9)
    assert needed(done)[1] == 9
    done = run("bench", "smooth", *sizes, lose_at=30)
    assert done.returncode == 5 and "CUDA device 0" in done.stderr, (done.returncode, done.stderr)


def left_open():
    """Where --backend auto runs is told by the row, and why not on the device in a note."""
    for device, backend in ((1, "cuda"), (2, "cpu")):
        for arguments in (["smooth", "--T", "60", "--method", "scan-rts"],
                          ["solve", "--system", "queue", "--n", "3", "--N", "20", "--method", "red-black"]):
            done = run("bench", *arguments, "--repeats", "1", "--json", "--backend", "auto", "--device", str(device))
            assert done.returncode == 0, done.stderr
            (told,) = json.loads(done.stdout)
            assert told["backend"] == backend and "together" not in told, told
            assert ("on the CPU" in done.stderr) == (backend == "cpu"), done.stderr
        done = run("smooth", "plain.h5", "--dry-run", "--json", "--method", "scan-rts", "--backend", "auto", "--device",
                   str(device))
        assert done.returncode == 0 and json.loads(done.stdout)["backend"] == backend, (done.stdout, done.stderr)


def left_to_choose():
    """What begins on a device says so, and where the CPU has done it."""
    with h5py.File("long.h5", "w") as f:
        f.create_dataset("y", (35, 100000, 1), "f4", chunks=(1, 100000, 1), fillvalue=np.nan)  # takes no room
        for name in "FQ":
            f["model/" + name] = np.eye(4) * .5
        f["model/H"], f["model/R"] = np.ones((1, 4)), np.ones((1, 1))
        f["model/m0"], f["model/P0"] = np.zeros(4), np.eye(4)
    for job, method in (("smooth", "scan-rts"), ("filter", "scan")):
        done = run(job, "long.h5", "--dry-run", "--backend", "auto", "--json", "--steady-state", "compute")
        told = json.loads(done.stdout)
        assert (told["method"], told["scan"], told["backend"]) == (method, "chunked", "cuda"), told
        assert told["bytes"]["device"] > 0, told
        done = run(job, "long.h5", "--dry-run", "--backend", "auto", "--json")
        assert json.loads(done.stdout)["backend"] == "cpu", done.stdout
        done = run(job, "long.h5", "--dry-run", "--backend", "auto", "--device", "2")
        assert done.returncode == 0 and "on the CPU: no such device" in done.stderr, done.stderr
    done = run("filter", "long.h5", "--backend", "auto")
    assert done.returncode == 0 and "ran method sequential on the CPU: the model is constant" in done.stderr, done.stderr


def refused():
    for options, code, text in (
            (["sys_indefinite.h5"], 1, "not positive definite"),
            (["sys.h5", "--device", "2"], 5, "no CUDA device 2"),
            (["sys.h5", "--method", "recursive-schur", "--inverse-blocks"], 2, "has none on a device"),
            (["cloud.h5", "--method", "red-black", "--max-iter", "2"], 1, "nothing is written")):
        done = run("solve", *options, "--backend", "cuda", "-o", "none.h5")
        assert done.returncode == code and text in done.stderr, (options, done.stderr)
        assert not os.path.exists("none.h5")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    subprocess.run([sys.executable, "-B", os.path.join(here, "..", "cli", "make_files.py"), "."], check=True)
    cholesky()
    general()
    smoothed()
    failing()
    orders()
    timed()
    timed_models()
    left_open()
    left_to_choose()
    without_memory()
    refused()
