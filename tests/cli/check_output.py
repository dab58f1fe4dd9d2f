"""What stands in output files: the same estimates from every way to write one model down, names,
shapes, types, axes and attributes. usage: check_output.py KALSCAN"""
import os
import pty
import shlex
import shutil
import subprocess
import sys
import tempfile

import h5py
import numpy as np

kalscan = os.path.abspath(sys.argv[1])
here = os.path.dirname(os.path.abspath(__file__))
T, NX, NY = 6, 2, 1


def run(command, *arguments):
    subprocess.run([kalscan, command, *arguments, "--quiet", "--force"], check=True)


def read(name):
    arrays = {}
    with h5py.File(name) as f:
        f.visititems(lambda k, v: arrays.update({k: v[()]} if hasattr(v, "shape") else {}))
    return arrays


def estimates(source, *options):
    run("smooth", source, "-o", "out.h5", "--method", "sequential", "--lag-one", *options)
    return {k: v for k, v in read("out.h5").items() if "smoothed" in k or k == "loglik"}


def same(one, other, tolerance):
    assert one.keys() == other.keys(), (one.keys(), other.keys())
    for key in one:
        a, b = np.squeeze(one[key]), np.squeeze(other[key])
        assert a.shape == b.shape and np.allclose(a, b, rtol=tolerance, atol=tolerance), (key, a, b)


def equal_forms():
    plain = estimates("plain.h5")
    for name in ("flat_y", "packed", "fill_nan", "fill_f8", "fill_i8", "series", "leading_one",
                 "columns", "scalars", "diagonal_r", "per_step", "chunked", "out_of_constant",
                 "fixed_strings"):
        same(plain, estimates(name + ".h5"), 0)
    same(plain, estimates("fill_f8_on_f4.h5"), 0)
    same(estimates("nan_long.h5"), estimates("fill_long.h5"), 0)
    same(plain, estimates("f32.h5"), 1e-6)
    same(plain, estimates("plain.h5", "--precision", "f32"), 1e-5)
    same(plain, estimates("plain.h5", "--precision", "mixed"), 1e-5)
    same(plain, estimates("elsewhere.h5", "--y", "/series/station_1", "--model", "/deep/inside"), 0)
    same(plain, estimates("only_data.h5", "--model-file", "only_model.h5"), 0)
    same(estimates("x1_into.h5"), estimates("x1_out_of.h5"), 0)


def nothing_seen():
    """Without an observation the estimates are predictions, and the log-likelihood is 0, not -0."""
    for method in ("sequential", "two-ended", "scan-rts", "scan-two-filter", "blocktri"):
        run("smooth", "nothing_seen.h5", "-o", "out.h5", "--method", method)
        out = read("out.h5")
        loglik = out["loglik"]   # of blocktri a difference of two log-determinants
        assert abs(loglik) < 1e-13 and str(loglik) != "-0.0", (method, loglik)
        with h5py.File("nothing_seen.h5") as f:
            F, mean = f["model/F"][()], f["model/m0"][()]
        for estimate in out["smoothed/mean"]:
            mean = F @ mean
            assert np.allclose(estimate, mean, rtol=1e-12, atol=1e-12), (method, estimate, mean)


def fortran():
    """Inputs transposed slice by slice give outputs transposed slice by slice."""
    c = estimates("plain.h5")
    c["smoothed/lag_one_cov"] = np.swapaxes(c["smoothed/lag_one_cov"], 1, 2)
    assert not np.allclose(c["smoothed/lag_one_cov"], np.swapaxes(c["smoothed/lag_one_cov"], 1, 2))
    same(c, estimates("fortran.h5"), 0)
    c = estimates("c_steps.h5")
    c["smoothed/lag_one_cov"] = np.swapaxes(c["smoothed/lag_one_cov"], 1, 2)
    same(c, estimates("fortran_steps.h5"), 0)


def shapes():
    """Names, shapes and types for one series and for several, all parts of the covariances."""
    for source, lead, number in (("plain.h5", (), "f64"), ("series.h5", (1,), "f32"),
                                 ("plain.h5", (), "mixed")):
        precision = ["--precision", number]
        run("smooth", source, "-o", "s.h5", "--filtered", "--lag-one", *precision)
        run("filter", source, "-o", "f.h5", "--innovations", "--predicted", *precision)
        run("smooth", source, "-o", "d.h5", "--cov", "diag", "--filtered", *precision)
        run("smooth", source, "-o", "n.h5", "--cov=none", *precision)
        state, states = lead + (T, NX), lead + (T, NX, NX)
        smoothed = {"smoothed/mean": state, "filtered/mean": state, "loglik": lead}
        expected = {
            "s.h5": {**smoothed, "smoothed/cov": states, "filtered/cov": states,
                     "smoothed/lag_one_cov": states, "smoothed/prior_mean": lead + (NX,),
                     "smoothed/prior_cov": lead + (NX, NX)},
            "f.h5": {"filtered/mean": state, "filtered/cov": states, "predicted/mean": state,
                     "predicted/cov": states, "innovations/residual": lead + (T, NY),
                     "innovations/cov": lead + (T, NY, NY),
                     "innovations/standardized": lead + (T, NY), "loglik": lead,
                     "loglik_terms": lead + (T,)},
            "d.h5": {**smoothed, "smoothed/cov_diag": state, "filtered/cov_diag": state},
            "n.h5": {"smoothed/mean": state, "loglik": lead}}
        axes = {"series", "time", "state", "state_2", "obs", "obs_2"}
        for name, arrays in expected.items():
            found = {k: v for k, v in read(name).items() if k not in axes}
            assert {k: np.shape(v) for k, v in found.items()} == arrays, (name, found.keys())
            for key, value in found.items():
                narrow = number == "f32" or (number == "mixed" and "cov" in key)
                assert value.dtype == ("f4" if narrow and "loglik" not in key else "f8"), (name, key)
        full, diagonal, f = read("s.h5"), read("d.h5"), read("f.h5")
        assert np.array_equal(np.einsum("...ii->...i", full["smoothed/cov"]),
                              diagonal["smoothed/cov_diag"])
        for cov in (full["smoothed/cov"], full["filtered/cov"], f["predicted/cov"]):
            assert np.array_equal(cov, np.swapaxes(cov, -1, -2))
        assert np.isnan(f["innovations/residual"].reshape(T)[2])
        assert f["loglik_terms"].reshape(T)[2] == 0
        assert np.isclose(f["loglik_terms"].sum(), f["loglik"].sum())
        assert np.isclose(f["loglik"].sum(), full["loglik"].sum(), rtol=1e-5)


def axes():
    """Every array has named axes with scales; time stamps come with their attributes."""
    with h5py.File("series.h5") as source, h5py.File("timed.h5", "w") as f:
        for key in ("y", "model"):
            source.copy(key, f)
        f["t"] = np.arange(T, dtype="i4") * 60
        f["t"].attrs.update(units="seconds since 2020-01-01", calendar="standard", scale=[1.0, 2.0])
    run("filter", "timed.h5", "-o", "axes.h5", "--innovations", "--compress", "6")
    names = {"filtered/cov": ["series", "time", "state", "state_2"], "loglik": ["series"],
             "innovations/cov": ["series", "time", "obs", "obs_2"]}
    with h5py.File("axes.h5") as f:
        for key, expected in names.items():
            dims = f[key].dims
            assert [d.label for d in dims] == expected, key
            for d in dims:
                assert d.label in d.keys() and h5py.h5ds.is_scale(f[d.label].id)
        assert f["t"].dtype == "f8" and list(f["t"]) == [60.0 * k for k in range(T)]
        time = f["filtered/mean"].dims[1]
        assert time[0] == f["t"] and "time" in time.keys()
        for key in ("t", "time"):
            assert f[key].attrs["units"] == "seconds since 2020-01-01"
            assert f[key].attrs["calendar"] == "standard" and list(f[key].attrs["scale"]) == [1, 2]
        assert f["filtered/cov"].compression == "gzip" and f["filtered/cov"].shuffle
        assert f["filtered/cov"].chunks is not None
    run("smooth", "plain.h5", "-o", "index.h5")
    with h5py.File("index.h5") as f:
        assert "t" not in f and list(f["smoothed/mean"].dims[0][0]) == list(range(T))


def steady_states():
    """Steps that are looked up are those that are computed, to the bit; held covariances are near them."""
    rng, made, n, T = np.random.default_rng(3), {}, 6, 400
    with h5py.File("constant.h5", "w") as f:
        f["y"] = rng.normal(size=(T, 2))
        f["model/F"] = 0.9 * np.eye(n) + 0.07 * rng.uniform(-1, 1, (n, n))
        f["model/Q"] = 0.3 * np.eye(n) + 0.1
        f["model/H"] = rng.normal(size=(2, n))
        f["model/R"] = np.eye(2)
        f["model/m0"] = np.zeros(n)
        f["model/P0"] = np.eye(n)
    for word in ("hold", "repeat", "compute"):
        run("smooth", "constant.h5", "-o", "steady.h5", "--steady-state", word, "--threads", "1", "--force")
        with h5py.File("steady.h5") as f:
            assert f.attrs["steady_state"] == word
            made[word] = f["smoothed/mean"][()], f["smoothed/cov"][()], f["loglik"][()]
    for computed, repeated, held in zip(*(made[word] for word in ("compute", "repeat", "hold"))):
        assert np.array_equal(computed, repeated)
        assert np.allclose(held, computed, rtol=1e-10, atol=1e-10)
    assert not np.array_equal(made["hold"][1], made["compute"][1])


def attributes():
    run("smooth", "x1_out_of.h5", "-o", "a.h5", "--method", "scan-rts", "--scan", "sengupta:2",
        "--precision", "f32", "--threads", "1")
    expected = dict(program="kalscan", input="x1_out_of.h5", prior="x1", transition="out-of",
                    layout="c", method="scan-rts", scan="sengupta:2", backend="cpu",
                    precision="f32", steady_state="hold", threads=1)
    run("filter", "plain.h5", "-o", "m.h5", "--precision", "mixed")
    with h5py.File("m.h5") as f:
        assert f.attrs["precision"] == "mixed" and f.attrs["method"] == "sequential"
        assert f.attrs["threads"] >= 1   # those that it took, not the 0 that stands for all
    with h5py.File("a.h5") as f:
        for key, value in expected.items():
            assert f.attrs[key] == value, (key, f.attrs[key])
        assert f.attrs["command_line"].startswith("kalscan smooth x1_out_of.h5 -o a.h5 --method")
        assert "every constant" in f.attrs["loglik_convention"] and f.attrs["version"]


def texts_of_info():
    """`info` shows attributes whole: empty ones, long ones, and those of several lines, without what would control a
    terminal."""
    run("smooth", "plain.h5", "-o", "out.h5")
    with h5py.File("out.h5", "a") as f:
        f.attrs["t_empty"], f.attrs["t_long"], f.attrs["t_lines"] = "", 3000 * "x" + "end", "one\x1b[31m\n\n  two\n"
    said = subprocess.run([kalscan, "info", "out.h5"], check=True, capture_output=True, text=True).stdout
    behind = "  %-18s "
    for lines in ([behind % "t_empty"], [behind % "t_long" + 3000 * "x" + "end"],
                  [behind % "t_lines" + "one\\x1b[31m", behind % "", behind % "" + "  two"]):
        assert "\n" + "\n".join(lines) + "\n" in said, (lines, said)


def command_line():
    """A shell makes the arguments of what stands in the output, whatever they are."""
    odd = "it's $(odd) \\ and \"long\".h5"
    shutil.copy("plain.h5", odd)
    run("smooth", odd, "-o", "line.h5")
    with h5py.File("line.h5") as f:
        words = shlex.split(f.attrs["command_line"])
        assert words == ["kalscan", "smooth", odd, "-o", "line.h5", "--quiet", "--force"], words


def lag_one_x1():
    lag = estimates("x1_into.h5")
    assert np.all(lag["smoothed/lag_one_cov"][0] == 0) and "smoothed/prior_mean" not in lag


def slabs():
    """Arrays longer than a slab come and go whole, chunked or not, in both layouts."""
    run("generate", "random", "-o", "long.h5", "--T", "70000", "--nx", "3", "--seed", "5")
    run("generate", "random", "-o", "many.h5", "--T", "7", "--B", "9000", "--nx", "3")
    for name in ("long", "many"):
        with h5py.File(name + ".h5") as f, h5py.File(name + "_turned.h5", "w") as g:
            g.create_dataset("y", data=f["y"][()], chunks=True, compression=1)
            for key, value in f["model"].items():
                matrix = key in "FQHRP0"
                g["model/" + key] = np.swapaxes(value[()], -1, -2) if matrix else value[()]
            g["model"].attrs["layout"] = "fortran"
        run("filter", name + ".h5", "-o", "one.h5", "--method", "sequential")
        run("filter", name + "_turned.h5", "-o", "two.h5", "--method=sequential", "--compress=1")
        same(read("one.h5"), read("two.h5"), 0)


def progress():
    """A bar while a long run lasts, wiped out at its end: on a terminal that can, and nowhere else."""
    def told(terminal, *options):
        """What the run says on stderr, a terminal of that name, or none."""
        own, theirs = pty.openpty() if terminal else os.pipe()
        p = subprocess.Popen([kalscan, "smooth", "long.h5", "-o", "bar.h5", "--force", "--compress", "8", *options],
                             stdout=subprocess.DEVNULL, stderr=theirs, env={**os.environ, "TERM": terminal or "xterm"})
        os.close(theirs)
        text = b""
        try:
            while part := os.read(own, 4096):
                text += part
        except OSError:   # how a terminal ends
            pass
        os.close(own)
        assert p.wait() == 0
        return text
    assert told(None) == b""
    try:
        for end in pty.openpty():
            os.close(end)
    except OSError:
        print("this machine lends no terminal: bars are not looked at")
        return
    bar = told("xterm")
    assert b"\rwrite   [" in bar and b"%" in bar and bar.endswith(b" \r"), bar
    assert told("xterm", "--quiet") == told("dumb") == b""


with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.executable, "-B", here + "/make_files.py", folder], check=True)
    os.chdir(folder)
    for check in (equal_forms, nothing_seen, fortran, shapes, axes, steady_states, attributes, texts_of_info,
                  command_line, lag_one_x1, slabs, progress):
        check()
        print("ok", check.__name__)
