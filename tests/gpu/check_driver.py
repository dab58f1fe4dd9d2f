"""The command as it was built for a real device, on what stands for CUDA's driver (driver/): it finds what the CPU
finds, and of every call that fails it says so in one line, with nothing left on the device and no file written.

usage: check_driver.py KALSCAN FOLDER_OF_THE_DRIVER"""
import os
import subprocess
import sys
import tempfile

import h5py
import numpy as np

kalscan, libraries = map(os.path.abspath, sys.argv[1:3])

# CUDA's numbers of errors.
OUT_OF_MEMORY, NO_DEVICE, LAUNCH_FAILED, NO_BINARY = 2, 100, 719, 209
# Those of code that a device or its driver is too old for.
NOT_FOR_IT = (200, NO_BINARY, 218, 221, 222, 223)
# What gives something back says nothing when it fails, nor do the calls around it: results are there.
RELEASES = {"cuMemFree", "cuMemFreeHost", "cuStreamDestroy", "cuEventDestroy", "cuGraphDestroy",
            "cuGraphExecDestroy", "cuModuleUnload", "cuDevicePrimaryCtxRelease", "cuCtxPopCurrent"}
# Copies between devices go another way.
OPTIONAL = {"cuDeviceCanAccessPeer", "cuCtxEnablePeerAccess"}
AROUND = {"cuCtxPushCurrent", "cuStreamSynchronize"}


def run(*arguments, fail="", **emulated):
    """What was said, and what the driver saw."""
    report = os.path.abspath("report")
    environment = {**os.environ, "LD_LIBRARY_PATH": libraries, "KS_DRIVER_REPORT": report, "KS_DRIVER_FAIL": fail,
                   **{"KS_EMULATED_" + name.upper(): str(value) for name, value in emulated.items()}}
    if os.path.exists(report):
        os.remove(report)
    done = subprocess.run([kalscan, *arguments], capture_output=True, text=True, env=environment)
    seen = {}
    if os.path.exists(report):
        with open(report, encoding="utf-8") as file:
            seen = dict(line.rstrip("\n").split(" ", 1) for line in file)
    return done, seen


def clean(seen, context):
    assert seen["left"] == "0" and seen["fault"] == "", (context, seen["left"], seen["fault"])


def numbers(path):
    found = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, item: found.update({name: item[()]})
                        if isinstance(item, h5py.Dataset) and item.dtype.kind == "f" else None)
    return found


def beside_the_cpu(command, source, both, of_device, near):
    """Numbers of the calls, by name."""
    for backend, options in (("cpu", []), ("cuda", ["--backend", "cuda", *of_device])):
        done, seen = run(command, source, "-o", backend + ".h5", "--force", "--quiet", *both, *options)
        assert done.returncode == 0 and not done.stderr, (command, source, options, done.stderr)
    clean(seen, (command, source, of_device))
    expected, found = numbers("cpu.h5"), numbers("cuda.h5")
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        apart = np.nanmax(np.abs(found[name] - value), initial=0) / max(np.nanmax(np.abs(value), initial=0), 1e-300)
        assert apart <= near and np.array_equal(np.isnan(found[name]), np.isnan(value)), (source, of_device, name, apart)
    return {name: int(count) for name, count in seen.items() if name.startswith("cu")}


def fails(command, source, options, calls, codes):
    """The first, second and last call of each name fail, one a run, with one number after another; cuda.h5 is what comes
    of it when none does."""
    tried, expected = 0, numbers("cuda.h5")
    for name, count in calls.items():
        for at in sorted({1, 2, count} & set(range(1, count + 1))):
            code = codes[tried % len(codes)]
            tried += 1
            done, seen = run(command, source, "-o", "none.h5", "--quiet", "--backend", "cuda", *options,
                             fail="%s:%d:%d" % (name, at, code))
            context = (command, options, name, at, code, done.returncode, done.stderr)
            # A series that has no room goes to the device in parts, and its results are the same.
            if name in RELEASES | OPTIONAL or (done.returncode == 0 and (code == OUT_OF_MEMORY or (name in AROUND and at == count))):
                assert done.returncode == 0 and not done.stderr, context
                found = numbers("none.h5")
                assert all(np.array_equal(value, found[key], equal_nan=True) for key, value in expected.items()), context
                os.remove("none.h5")
                continue
            assert done.returncode == 5 and done.stderr.count("\n") == 1 and "CUDA" in done.stderr, context
            assert not os.path.exists("none.h5"), context
            clean(seen, context)
    return tried


def falls_back():
    """`--backend auto` says why, and has the CPU's results."""
    for fail in ("cuInit:1:%d" % NO_DEVICE, "cuModuleLoadData:1:%d" % NO_BINARY, "cuStreamCreate:1:%d" % OUT_OF_MEMORY):
        done, seen = run("smooth", "series.h5", "-o", "auto.h5", "--force", "--method", "scan-rts", "--backend",
                         "auto", fail=fail)
        assert done.returncode == 0 and done.stderr.count("\n") == 1 and "CPU" in done.stderr, (fail, done.stderr)
        clean(seen, fail)
        done, _ = run("smooth", "series.h5", "-o", "cpu.h5", "--force", "--quiet", "--method", "scan-rts")
        assert done.returncode == 0
        for name, value in numbers("cpu.h5").items():
            assert np.array_equal(value, numbers("auto.h5")[name], equal_nan=True), (fail, name)


def refuses():
    for options, emulated, text in ((["--device", "2"], {}, "no CUDA device 2"), ([], {"old": 1}, "CUDA device 0"),
                                    ([], {"memory": 1 << 16}, "memory"), ([], {"lose_at": 6}, "CUDA error 719")):
        done, seen = run("smooth", "series.h5", "-o", "none.h5", "--quiet", "--backend", "cuda", *options, **emulated)
        assert done.returncode == 5 and text in done.stderr and done.stderr.count("\n") == 1, (options, done.stderr)
        assert not os.path.exists("none.h5")
        if "lose_at" not in emulated:  # a lost device takes nothing back
            clean(seen, (options, emulated))
    for number in NOT_FOR_IT:
        done, seen = run("smooth", "series.h5", "-o", "none.h5", "--quiet", "--backend", "cuda",
                         fail="cuModuleLoadData:1:%d" % number)
        assert done.returncode == 5 and "or its driver, is older" in done.stderr and done.stderr.count("\n") == 1, (
            number, done.stderr)
        clean(seen, number)


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    for path, *arguments in (("series.h5", "random", "--T", "40", "--missing", "0.1"),
                             ("large.h5", "rotation", "--nx", "12", "--T", "20"),
                             ("small_blocks.h5", "blocktri", "--N", "37", "--n", "8", "--nrhs", "3"),
                             ("large_blocks.h5", "blocktri", "--N", "7", "--n", "70"),
                             ("queue.h5", "queue", "--servers", "8", "--capacity", "3")):
        subprocess.run([kalscan, "generate", *arguments, "-o", path, "--quiet"], check=True)
    codes = (OUT_OF_MEMORY, LAUNCH_FAILED, NO_DEVICE)
    tried = 0
    for command, source, both, of_device in (
            ("smooth", "series.h5", ["--lag-one", "--filtered"], []),
            ("smooth", "series.h5", [], ["--method", "scan-two-filter", "--device", "0,1"]),
            ("solve", "large_blocks.h5", [], ["--method", "recursive-schur"])):
        calls = beside_the_cpu(command, source, both, of_device, 1e-8)
        tried += fails(command, source, [*both, *of_device], calls, codes)
    print(tried, "calls failed")
    beside_the_cpu("smooth", "series.h5", ["--precision", "f32"], ["--scan", "sengupta:4"], 1e-3)
    beside_the_cpu("filter", "series.h5", ["--predicted", "--innovations"], ["--scan", "blelloch"], 1e-8)
    beside_the_cpu("smooth", "large.h5", [], ["--method", "scan-two-filter"], 1e-8)
    beside_the_cpu("smooth", "large.h5", [], ["--method", "blocktri"], 1e-8)
    beside_the_cpu("solve", "small_blocks.h5", [], [], 1e-12)
    beside_the_cpu("solve", "small_blocks.h5", [], ["--method", "partition", "--segments", "5"], 1e-12)
    beside_the_cpu("solve", "large_blocks.h5", ["--inverse-blocks"], [], 1e-12)
    beside_the_cpu("solve", "large_blocks.h5", ["--precision", "f32"], ["--method", "recursive-schur"], 1e-4)
    beside_the_cpu("solve", "queue.h5", ["--method", "red-black", "--tol", "1e-12"], [], 1e-8)
    falls_back()
    refuses()
