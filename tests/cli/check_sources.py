"""Values that an input takes from elsewhere: what is not all there is refused, and no output is written over it.
usage: check_sources.py KALSCAN"""
import os
import subprocess
import sys
import tempfile

import h5py
import numpy as np

kalscan = os.path.abspath(sys.argv[1])
Y = np.arange(1.0, 13.0).reshape(6, 2)
MODEL = dict(F=np.eye(2), Q=np.eye(2), H=np.eye(2), R=np.eye(2), m0=np.zeros(2), P0=np.eye(2))


def write(name, make, **changes):
    """A file with the model, and whatever make(f) puts there."""
    with h5py.File(name, "w") as f:
        for key, value in {**MODEL, **changes}.items():
            if value is not None:
                f["model/" + key] = value
        make(f)


def virtual(f, file, path, **options):
    layout = h5py.VirtualLayout(shape=Y.shape, dtype="f8")
    layout[:] = h5py.VirtualSource(file, path, shape=Y.shape)
    f.create_virtual_dataset("y", layout, **options)


def external(f, path, file, value):
    f.create_dataset(path, value.shape, "<f8", external=[(file, 0, value.nbytes)])[:] = value


def run(*arguments, **environment):
    return subprocess.run([kalscan, *arguments], capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})


def refused(output, source, what, job="filter", **environment):
    before = open(output, "rb").read()
    done = run(job, source, "-o", output, "--force", **environment)
    assert done.returncode == 2 and f"holds values of {what} of the input {source}" in done.stderr, done
    assert open(output, "rb").read() == before, output


def raw_data():
    """Raw data outside of HDF5 are named from the working folder, or as the environment says."""
    os.mkdir("raw")
    write("in.h5", lambda f: external(f, "y", "y.bin", Y))
    refused("y.bin", "in.h5", "/y")
    os.symlink("y.bin", "link.bin")
    refused("link.bin", "in.h5", "/y")
    write("P0.h5", lambda f: (f.__setitem__("y", Y), external(f, "model/P0", "raw/P0.bin", np.eye(2))), P0=None)
    refused("raw/P0.bin", "P0.h5", "/model/P0")
    write("raw/in.h5", lambda f: external(f, "y", "y.bin", Y))
    os.rename("y.bin", "raw/y.bin")
    for prefix in ("raw", "${ORIGIN}", "${ORIGIN}/../raw"):
        refused("raw/y.bin", "raw/in.h5", "/y", HDF5_EXTFILE_PREFIX=prefix)
    os.rename("raw/y.bin", "y.bin")
    rng = np.random.default_rng(1)
    with h5py.File("system.h5", "w") as f:
        f["D"], f["L"] = np.tile(4 * np.eye(2), (6, 1, 1)), np.zeros((5, 2, 2))
        external(f, "b", "b.bin", rng.normal(size=(6, 2)))
    refused("b.bin", "system.h5", "/b", job="solve")
    assert run("filter", "in.h5", "-o", "out.h5").returncode == 0


def sources_of_sources():
    """A virtual dataset whose source is another, or in a raw file, and one of a whole row of files."""
    write("raw.h5", lambda f: external(f, "far", "deep.bin", Y))
    write("between.h5", lambda f: virtual(f, "raw.h5", "far"))
    write("top.h5", lambda f: virtual(f, "between.h5", "y"))
    for output in ("deep.bin", "raw.h5", "between.h5"):
        refused(output, "top.h5", "/y")
    for k in range(6):
        with h5py.File(f"row-{k}.h5", "w") as f:
            f["y"] = Y[k]
    creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    where = h5py.h5s.create_simple((6, 2), (h5py.h5s.UNLIMITED, 2))
    where.select_hyperslab((0, 0), (h5py.h5s.UNLIMITED, 1), (1, 1), (1, 2))
    creation.set_virtual(where, b"row-%b.h5", b"y", h5py.h5s.create_simple((2,)))
    write("rows.h5", lambda f: h5py.h5d.create(f.id, b"y", h5py.h5t.IEEE_F64LE, where, creation))
    refused("row-4.h5", "rows.h5", "/y")
    assert run("filter", "top.h5", "-o", "out.h5", "--force").returncode == 0
    assert run("filter", "rows.h5", "-o", "out.h5", "--force").returncode == 0
    os.truncate("deep.bin", 8)
    done = run("filter", "top.h5", "--dry-run")
    assert done.returncode == 3 and "top.h5: /y has its values in the file deep.bin from byte 0 on, 96 bytes" in done.stderr
    os.remove("raw.h5")
    done = run("filter", "top.h5", "--dry-run")
    assert done.returncode == 3 and "its source far of file raw.h5 is not there" in done.stderr, done


def incomplete():
    """The rest of a raw file that ends early would be zeros, and a ring of sources never ends."""
    os.truncate("y.bin", 40)
    done = run("info", "in.h5")
    assert done.returncode == 3 and "/y has its values in the file y.bin from byte 0 on, 96 bytes, but the file ends " \
        "at byte 40" in done.stdout, done
    os.remove("y.bin")
    assert run("filter", "in.h5", "--dry-run").returncode == 4
    write("ring.h5", lambda f: virtual(f, ".", "y"))
    done = run("filter", "ring.h5", "--dry-run")
    assert done.returncode == 3 and "ring.h5: /y is a virtual dataset whose sources have sources" in done.stderr, done


def notes(source, job="filter"):
    done = run(job, source, "--dry-run")
    assert done.returncode == 0, done
    return [line[15:] for line in done.stderr.splitlines() if line.startswith("kalscan: note: ")]


def unwritten():
    """What nobody wrote is read as 0, or another fill value, and told; what is missing by it is not."""
    made = "; the fill value NaN, or an attribute _FillValue of 0, makes them missing"
    for rows, text in ((0, "/y was never written"), (2, "2 of 3 chunks of /y were never written"), (6, None)):
        for options in ({}, dict(compression="gzip")):
            write("part.h5", lambda f: f.create_dataset("y", Y.shape, "f8", chunks=(2, 2), **options)
                  .write_direct(Y, np.s_[:rows], np.s_[:rows]) if rows else
                  f.create_dataset("y", Y.shape, "f8", chunks=(2, 2), **options))
            assert notes("part.h5") == ([f"{text}: taken for observations of 0{made}"] if text else []), notes("part.h5")
    for fill, attributes in ((np.nan, {}), (0.0, dict(_FillValue=0.0)), (-9.0, dict(_FillValue=-9.0))):
        write("told.h5", lambda f: f.create_dataset("y", Y.shape, "f8", chunks=(2, 2), fillvalue=fill)
              .attrs.update(attributes))
        assert notes("told.h5") == [], fill
        assert "12 of 12 entries" in run("info", "told.h5").stdout
    write("other.h5", lambda f: f.create_dataset("y", Y.shape, "i2", chunks=(2, 2)).attrs.update(
        _FillValue=np.int16(-9), scale_factor=0.5, add_offset=3.0))
    assert notes("other.h5") == ["/y was never written: taken for observations of 3" + made], notes("other.h5")

    def parts(f):
        layout = h5py.VirtualLayout(shape=Y.shape, dtype="f8")
        layout[:2] = h5py.VirtualSource("in.h5", "y", shape=Y.shape)[:2]
        f.create_virtual_dataset("y", layout)
    write("in.h5", lambda f: f.__setitem__("y", Y))
    write("parts.h5", parts)
    assert notes("parts.h5") == ["8 of 12 entries of the virtual dataset /y have no source: taken for observations "
                                 "of 0" + made], notes("parts.h5")
    write("Q.h5", lambda f: (f.__setitem__("y", Y), f.create_dataset("model/Q", (2, 2), "f8"),
                             f.create_dataset("model/u", (6, 2), "f8", chunks=(1, 2), fillvalue=3)), Q=None)
    assert notes("Q.h5") == ["/model/Q was never written: read as 0", "/model/u was never written: read as 3"]
    with h5py.File("zeros.h5", "w") as f:
        f["D"], f["L"] = np.tile(np.eye(2), (6, 1, 1)), np.zeros((5, 2, 2))
        f.create_dataset("b", (6, 2), "f8")
    assert notes("zeros.h5", "solve") == ["/b was never written: read as 0"], notes("zeros.h5", "solve")
    assert "/b was never written" in run("info", "zeros.h5").stdout


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for check in (raw_data, sources_of_sources, incomplete, unwritten):
        check()
        print("ok", check.__name__)
