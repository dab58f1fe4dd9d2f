"""Write the small input files of the command-line tests into a folder: good ones in every form that
the reader understands, and one file for each thing that it must refuse."""
import os
import sys

import h5py
import numpy as np

T, NX, NY = 6, 2, 1
F = np.array([[1.0, 0.5], [0.0, 1.0]])
Q = np.array([[0.2, 0.1], [0.1, 0.3]])
H = np.array([[1.0, 0.25]])
R = np.array([[0.5]])
M0 = np.array([1.0, -1.0])
P0 = np.array([[2.0, 0.5], [0.5, 1.0]])
Y = np.array([[1.0], [2.0], [np.nan], [2.5], [4.0], [3.5]])
STEPS = 1.0 + 0.1 * np.arange(T)[:, None, None]   # factors that make a constant vary


def model():
    return dict(F=F, Q=Q, H=H, R=R, m0=M0, P0=P0)


def write(name, y=Y, attributes=None, y_attributes=None, t=None, group="model", **changes):
    """A file with the plain model and what differs from it; None leaves a dataset out."""
    with h5py.File(name + ".h5", "w") as f:
        if y is not None:
            f["y"] = y
            f["y"].attrs.update(y_attributes or {})
        if t is not None:
            f["t"] = t
        arrays = {k: v for k, v in {**model(), **changes}.items() if v is not None}
        for key, value in arrays.items():
            f[f"{group}/{key}"] = value
        if group in f:
            f[group].attrs.update(attributes or {})


def good_forms():
    """Every one of these says the same as plain.h5; tests compare the estimates."""
    write("plain")
    write("flat_y", y=Y[:, 0])
    write("f32", y=Y.astype("f4"), **{k: v.astype("f4") for k, v in model().items()})
    whole = np.where(np.isnan(Y), -9999, 2 * np.nan_to_num(Y) - 1).astype("i2")
    write("packed", y=whole, y_attributes=dict(_FillValue=np.int16(-9999), scale_factor=0.5,
                                               add_offset=0.5))
    write("fill_nan", y_attributes=dict(_FillValue=np.nan))   # what xarray writes
    write("fill_f8", y=np.nan_to_num(Y, nan=-1e30), y_attributes=dict(_FillValue=-1e30))
    # Sixteen bytes to a number, and a heap's worth of them.
    write("fill_long", y=np.tile(np.nan_to_num(Y, nan=-1e30), (1000, 1)).astype(np.longdouble),
          y_attributes=dict(_FillValue=-1e30))
    write("nan_long", y=np.tile(Y, (1000, 1)))
    write("fill_f8_on_f4", y=np.nan_to_num(Y, nan=-9999.9).astype("f4"),
          y_attributes=dict(_FillValue=-9999.9))
    big = 2**63 - 1
    counts = np.where(np.isnan(Y), big, (2 * np.nan_to_num(Y)).astype("i8") + big // 2 * 0)
    write("fill_i8", y=counts.astype("i8"), y_attributes=dict(_FillValue=np.int64(big),
                                                             scale_factor=0.5))
    write("series", y=Y[None], F=np.broadcast_to(F, (1, T, NX, NX)))
    write("leading_one", F=F[None], Q=Q[None, None], H=H[None], m0=M0[None], P0=P0[None])
    write("columns", m0=M0[:, None], u=np.zeros((NX, 1)), d=np.zeros((1, NY)))
    write("scalars", R=np.float64(0.5), d=np.int8(0))
    write("diagonal_r", R=None, R_diag=np.array([0.5]))
    write("per_step", F=np.tile(F, (T, 1, 1)), R=np.tile(R, (T, 1, 1)))
    write("fortran", attributes=dict(layout="fortran"), F=F.T, Q=Q.T, H=H.T, R=R.T, P0=P0.T,
          m0=M0[None])
    write("fixed_strings", attributes=dict(layout=np.bytes_("c"), prior=np.bytes_("x0")))
    write("elsewhere", group="deep/inside")
    with h5py.File("elsewhere.h5", "a") as f:
        f.move("y", "series/station_1")
    write("nothing_seen", y=np.full((T, NY), np.nan))
    write("only_data", F=None, Q=None, H=None, R=None, m0=None, P0=None)
    write("only_model", y=None)
    with h5py.File("b_is_data.h5", "w") as f:
        f["b"] = Y
    with h5py.File("chunked.h5", "w") as f:
        f.create_dataset("y", data=Y, chunks=(4, 1), compression="gzip", shuffle=True)
        for key, value in model().items():
            f["model/" + key] = value


def conventions():
    """Pairs of files that mean the same."""
    Fs, Qs, us = F * STEPS / 2, Q * STEPS, np.arange(T * NX).reshape(T, NX) / 10
    junk = dict(F=np.full((1, NX, NX), np.nan), Q=np.full((1, NX, NX), np.inf),
                u=np.full((1, NX), np.nan))
    into = dict(F=np.concatenate([junk["F"], Fs[1:]]), Q=np.concatenate([junk["Q"], Qs[1:]]),
                u=np.concatenate([junk["u"], us[1:]]))
    write("x1_into", attributes=dict(prior="x1"), **into)
    write("x1_out_of", attributes=dict(prior="x1", transition="out-of"),
          F=Fs[1:], Q=np.concatenate([Qs[1:], junk["Q"]]), u=us[1:])
    write("out_of_constant", attributes=dict(transition="out-of"))
    Hs = np.concatenate([H * s for s in STEPS]).reshape(T, NY, NX)
    write("fortran_steps", attributes=dict(layout="fortran", prior="x1"),
          F=np.swapaxes(into["F"], 1, 2), Q=into["Q"], u=into["u"], H=np.swapaxes(Hs, 1, 2))
    write("c_steps", attributes=dict(prior="x1"), H=Hs, **into)


def wrong_content():
    nan = np.full((NX, NX), np.nan)
    bad_F = np.tile(F, (T, 1, 1))
    bad_F[4, 1, 0] = np.inf
    bad_Q = np.tile(Q, (T, 1, 1))
    bad_Q[3] = [[1, 2], [2, 1]]
    write("no_y", y=None)
    write("no_F", F=None)
    write("no_Q", Q=None)
    write("no_m0", m0=None)
    write("letter_y", y=None)
    write("letter_F", F=None, f=F)
    write("letter_Q", Q=None, Q_DIAG=np.ones(NX))
    write("letter_model", group="Model")
    write("root_model", group="/")
    with h5py.File("letter_y.h5", "a") as f:
        f["Y"] = Y
    write("two_Q", Q_diag=np.ones(NX))
    write("no_steps", y=np.zeros((0, 1)))
    write("no_series", y=np.zeros((0, T, 1)))
    write("no_entries", y=np.zeros((T, 0)))
    write("no_states", F=np.zeros((0, 0)))
    write("y_infinite", y=np.where(np.arange(T) == 3, np.inf, 1.0))
    write("y_rank_4", y=np.zeros((2, 2, 2, 2)))
    write("y_text", y=np.array([b"1", b"2"]))
    write("y_boolean", y=np.array([True, False]))
    write("y_complex", y=np.array([1 + 2j, 3]))
    write("y_null", y=h5py.Empty("f8"))
    write("F_nan", F=nan)
    write("F_infinite", F=bad_F)
    write("F_wide", F=np.zeros((2, 3)))
    write("F_time_last", F=np.zeros((NX, NX, T)))
    write("F_time_first_in_matlab", F=np.zeros((NX, NX, T)), attributes=dict(layout="fortran"))
    write("y_time_last", y=np.ones((2, T)), H=np.eye(2), R=np.eye(2))
    write("y_time_last_steps", y=np.ones((2, T)), F=np.tile(F, (T, 1, 1)), H=np.eye(2), R=np.eye(2))
    write("y_column_in_matlab", y=Y.T, attributes=dict(layout="fortran"), H=H.T)
    write("H_row", H=H[0])
    write("H_rows", H=np.ones((T, NX)))
    write("R_numbers", R=np.ones(T))
    write("d_numbers", d=np.ones(T))
    write("Q_vector", Q=np.ones(NX))
    write("Q_vectors", Q=np.ones((T, NX)))
    write("P0_vector", P0=np.ones(NX))
    write("Q_number", Q=0.1)
    write("F_vector", F=np.ones(NX))
    write("F_rows", F=np.zeros((T + 1, NX, NX)))
    write("F_rows_of_out_of", F=np.tile(F, (T - 1, 1, 1)))
    write("H_single", H=[1.0])
    write("H_transposed", H=H.T)
    write("H_c_under_fortran", attributes=dict(layout="fortran"), m0=M0)
    write("Q_asymmetric", Q=[[1, 0.5], [0.25, 1]])
    write("Q_nearly_symmetric", Q=Q + [[0, 1e-10], [0, 0]])
    write("Q_indefinite", Q=bad_Q)
    write("Q_indefinite_out_of", attributes=dict(prior="x1", transition="out-of"), Q=bad_Q)
    write("R_negative", R=None, R_diag=[-1.0])
    diagonals = np.ones((T, NX))
    diagonals[3, 1] = -1.0
    write("Q_diag_negative", Q=None, Q_diag=diagonals)
    write("Q_diag_negative_out_of", attributes=dict(prior="x1", transition="out-of"), Q=None, Q_diag=diagonals)
    write("Q_diag_negative_series", y=np.zeros((2, T, 1)), Q=None, Q_diag=np.stack([np.ones((T, NX)), diagonals]))
    write("P0_diag_negative", P0=None, P0_diag=np.float32([[-1.0], [-2.0]]))
    write("P0_indefinite", P0=[[1.0, 2.0], [2.0, 1.0]])
    write("Q_f32_asymmetric", Q=(Q + [[0, 1e-5], [0, 0]]).astype("f4"))
    write("prior_escape", attributes=dict(prior="x1\x1b[2J\n\x7f\u00e9"))
    write("escape_member", **{"\x1b[1mq": 1.0})
    with h5py.File("escape_output.h5", "w") as f:
        f["x\x1b"] = f["x"] = np.ones(1)
        f["x"].attrs["long_name"] = "\x1b[31mred"
        f.attrs["\x07bell"], f.attrs["input"] = 1.0, "\x1b]0;title\x07.h5"
    write("prior_wrong", attributes=dict(prior="x2"))
    write("prior_number", attributes=dict(prior=1))
    write("out_of_x0", attributes=dict(transition="out-of"), F=np.tile(F, (T, 1, 1)))
    write("t_short", t=np.arange(T - 1.0))
    write("t_irregular", t=np.array([0, 1, 2, 3, 4.005, 5.005]))
    write("t_back", t=np.array([0, 1, 2, 1.5, 4, 5]))
    write("t_gap", t=np.array([0, 1, np.nan, 3, 4, 5]))
    write("scale_zero", y_attributes=dict(scale_factor=0.0))
    write("scale_nan", y_attributes=dict(scale_factor=np.nan))
    write("offset_zero", y_attributes=dict(scale_factor=np.float32(1), add_offset=0))
    write("offset_infinite", y_attributes=dict(add_offset=-np.inf))
    write("fill_text", y_attributes=dict(_FillValue="none"))
    write("many_problems", R=None, H=H.T, m0=[1.0, 2.0, 3.0])
    write("series_mismatch", y=np.zeros((3, T, 1)), F=np.zeros((2, T, NX, NX)))
    write("not_positive", R=[[0.0]], Q=np.zeros((NX, NX)), P0=np.zeros((NX, NX)))
    one = np.eye(2)
    write("loglik_overflows", F=one, Q=one, H=one, R=one, y=[[1.0, 1.0], [1.0, 1e160]], P0=one)
    write("loglik_of_most", F=one, Q=one, H=one, R=one, y=np.ones((2, 2)),
          P0=np.diag([1.0, np.finfo("f8").max]))
    write("vague_twice", F=one, Q=one, H=[[1.0, 0.0], [1.0, 0.0]], R=one, y=np.zeros((3, 2)),
          P0=np.diag([1e14, 1.0]))
    write("signal_overflows", H=np.where(np.isnan(Y), 1e200, 1.0)[:, :, None] * H)
    unseen = np.array([[-0.25], [1.0]])   # H unseen = 0, H F unseen > 0
    write("not_for_scans", R=[[0.0]], Q=unseen @ unseen.T)
    write("nearly_no_noise", Q=1e-12 * np.eye(NX))
    nearly = 1 - 1e-10
    write("nearly_one", H=np.ones((2, NX)), R=[[1, nearly], [nearly, 1]], y=np.ones((T, 2)))
    write("vague", Q=1e-12 * np.eye(NX), P0=1e14 * np.eye(NX))
    write("far_off", y=1e155 * Y, R=[[1e-3]])
    big = np.eye(512)
    write("large", y=np.zeros((2**20, 1)), F=big, Q=big, P0=big, H=np.ones((1, 512)),
          m0=np.ones(512))
    with h5py.File("model_is_data.h5", "w") as f:
        f["y"], f["model"] = Y, Y
    write("matlab")
    with h5py.File("matlab.h5", "a") as f:
        f["model/F"].attrs["MATLAB_class"] = np.bytes_("double")
    write("matlab_y", y_attributes=dict(MATLAB_class=np.bytes_("double")))
    write("matlab_empty", u=np.zeros(2, "u8"))
    write("y_is_group", y=None)
    write("F_sparse", F=None)
    write("crowded", y=None)
    with h5py.File("matlab_empty.h5", "a") as f, h5py.File("y_is_group.h5", "a") as g, \
            h5py.File("F_sparse.h5", "a") as h, h5py.File("crowded.h5", "a") as i:
        f["model/u"].attrs["MATLAB_empty"] = np.uint8(1)
        f["model/F"].attrs["MATLAB_empty"] = np.uint8(0)
        for name in ("axis0", "axis1", "block0_values"):
            g["y/" + name] = Y
        h["model/F/data"], h["model/F/ir"] = np.ones(2), np.arange(2)
        h["model/F"].attrs["MATLAB_sparse"] = np.uint64(2)
        for k in range(30):
            i[f"y/station_{k:02}"] = Y
    write("dangling", y=None)
    with h5py.File("dangling.h5", "a") as f:
        f["y"] = h5py.SoftLink("/nowhere")
    for name, shape in (("huge", (2**40, 2)), ("overflow", (2**62, 2**62))):
        write(name, y=None)
        with h5py.File(name + ".h5", "a") as f:
            space = h5py.h5s.create_simple(shape, shape)
            creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            creation.set_chunk((1024, 2))
            h5py.h5d.create(f.id, b"y", h5py.h5t.IEEE_F64LE, space, creation)


def other_files():
    """Values that stand in other files, or behind filters; and what looks as if it were read."""
    with h5py.File("store.h5", "w") as f:
        f["far/y"] = Y
    virtual = h5py.VirtualLayout(shape=Y.shape, dtype="f8")
    virtual[:] = h5py.VirtualSource("store.h5", "far/y", shape=Y.shape)
    gone = h5py.VirtualLayout(shape=Y.shape, dtype="f8")
    gone[:] = h5py.VirtualSource("gone.h5", "far/y", shape=Y.shape)
    gone_path = h5py.VirtualLayout(shape=Y.shape, dtype="f8")
    gone_path[:] = h5py.VirtualSource("store.h5", "near/y", shape=Y.shape)
    for name, make in (
            ("linked", lambda f: f.__setitem__("y", h5py.ExternalLink("store.h5", "/far/y"))),
            ("link_gone", lambda f: f.__setitem__("y", h5py.ExternalLink("gone.h5", "/far/y"))),
            ("virtual", lambda f: f.create_virtual_dataset("y", virtual)),
            ("virtual_gone", lambda f: f.create_virtual_dataset("y", gone)),
            ("virtual_gone_path", lambda f: f.create_virtual_dataset("y", gone_path)),
            ("virtual_nan", lambda f: f.create_virtual_dataset("y", gone, fillvalue=np.nan)),
            ("lzf", lambda f: f.create_dataset("y", data=np.ones((4096, 1)), compression="lzf"))):
        write(name, y=None)
        with h5py.File(name + ".h5", "a") as f:
            make(f)
    write("u_gone")
    write("model_gone", **{k: None for k in model()})
    with h5py.File("u_gone.h5", "a") as f, h5py.File("model_gone.h5", "a") as g:
        f["model/u"] = h5py.SoftLink("/nowhere")
        g["model"] = h5py.SoftLink("/nowhere/at/all")
    write("unread", attributes=dict(Prior="x1"), U=np.ones(NX), q=1.0,
          y_attributes=dict(missing_value=-999.0, _Unsigned="true"))
    write("labels")
    with h5py.File("labels.h5", "a") as f:
        f["model"]["station"] = ["a", "b"]
        f["model"]["prior"] = "x1"
    for name, attributes in (("unwritten", {}), ("unwritten_packed", dict(scale_factor=0.1, add_offset=1.0)),
                             ("unwritten_nan", {}), ("unwritten_told", dict(_FillValue=-99.0))):
        write(name, y=None)
        with h5py.File(name + ".h5", "a") as f:
            fill = np.nan if name == "unwritten_nan" else -99.0
            y = f.create_dataset("y", (T, NY), chunks=(2, NY), fillvalue=fill)
            y[:3] = 1.0
            y.attrs.update(attributes)
    write("unread_root")
    with h5py.File("unread_root.h5", "a") as f:
        f.attrs["prior"] = "x1"
    write("read_all", attributes=dict(prior="x0"),
          y_attributes=dict(missing_value=-999.0, _FillValue=-999.0))
    with h5py.File("read_all.h5", "a") as f:
        f.attrs["prior"] = "x1"
        f["model/state"] = np.arange(NX)
        f["model/state"].make_scale("state")
    write("F_one_short", F=np.tile(F, (T - 1, 1, 1)))


def system():
    """Blocks of a well-conditioned system, N = 5, n = 3, and two right-hand sides."""
    rng = np.random.default_rng(3)
    D = rng.uniform(-1, 1, (5, 3, 3)) + 6 * np.eye(3)
    return dict(D=np.tril(D) + np.swapaxes(np.tril(D, -1), 1, 2), L=rng.uniform(-1, 1, (4, 3, 3)),
                b=rng.uniform(-1, 1, (5, 3, 2)))


def write_system(name, layout=None, **changes):
    """A file with the plain system and what differs from it; None leaves a dataset out."""
    with h5py.File(name + ".h5", "w") as f:
        for key, value in {**system(), **changes}.items():
            if value is not None:
                f[key] = value
        if layout is not None:
            f.attrs["layout"] = layout


def systems():
    """Systems to solve, in every form, and what must be refused."""
    plain = system()
    D, L, b = plain["D"], plain["L"], plain["b"]

    def spoilt(array, index, value):
        array = np.array(array, dtype="f8")
        array[index] = value
        return array

    write_system("sys")
    write_system("sys_one_rhs", b=b[:, :, 0])
    write_system("sys_fortran", layout="fortran", b=np.swapaxes(b, 1, 2), L=np.swapaxes(L, 1, 2),
                 D=np.swapaxes(spoilt(D, (4, 0, 2), np.nan), 1, 2))
    write_system("sys_lower", D=spoilt(spoilt(D, (4, 0, 2), np.nan), (0, 1, 2), np.inf))
    write_system("sys_integers", D=np.round(D).astype("i2"), L=np.round(L).astype("i8"),
                 b=np.round(9 * b).astype("u1"))
    write_system("sys_f32", D=D.astype("f4"), L=L.astype(">f4"))
    write_system("sys_one_block", D=D[:1], L=None, b=b[:1])
    write_system("sys_matlab_one", D=D[0], L=np.zeros((0, 3, 3)), b=b[0].T, layout="fortran")
    with h5py.File("sys_matlab.h5", "w") as f:
        for key, value in plain.items():
            f[key] = value
            f[key].attrs["MATLAB_class"] = np.bytes_("double")
    with h5py.File("sys_chunked.h5", "w") as f:
        for key, value in plain.items():
            f.create_dataset(key, data=value, chunks=(3,) + value.shape[1:], compression="gzip")

    with h5py.File("sys_linked.h5", "w") as f, h5py.File("sys_store.h5", "w") as g:
        f["D"], f["L"] = D, L
        g["b"] = b
        f["b"] = h5py.ExternalLink("sys_store.h5", "/b")
    with h5py.File("sys_U_gone.h5", "w") as f:
        f["D"], f["L"], f["b"] = D, L, b
        f["U"] = h5py.SoftLink("/nowhere")
    write_system("sys_general", U=np.swapaxes(L, 1, 2))
    write_system("sys_indefinite", D=spoilt(D, (3, 1, 1), -1.0))
    write_system("sys_hard", D=D[:1] * 0 + np.array([[1, 0, 0], [1 - 1e-10, 1, 0], [0, 0, 1]]),
                 L=None, b=b[:1])
    write_system("sys_singular", D=np.concatenate([D[:4], 0 * D[:1]]), L=0 * L)
    write_system("sys_letters", l=L, u=L)
    with h5py.File("sys_letters.h5", "a") as f:
        f.attrs["Layout"] = "fortran"
    write_system("sys_zero", D=0 * D[:1], L=None, b=b[:1])
    write_system("sys_large_numbers", D=D * 1e300, L=L * 1e300)
    write_system("sys_tiny", D=np.full((1, 1, 1), 1e-300), L=None, b=np.full((1, 1), 1e300))
    write_system("sys_no_D", D=None)
    write_system("sys_letter_D", D=None, d=D)
    write_system("sys_letter_D_dia", D=None, D_DIA=np.ones((5, 3, 3)))
    write_system("sys_letter_L", L=None, l=L)
    write_system("sys_letter_b", b=None, B=b)
    write_system("sys_letter_list", L=None)
    with h5py.File("sys_letter_list.h5", "a") as f:
        for name in ("block", "Row", "col", "value"):
            f["L/" + name] = np.zeros(1)
    # Diagonal blocks are regular, and elimination leaves nothing of the second one.
    rng = np.random.default_rng(3)
    lower, upper, others = (rng.integers(-3, 4, (2, 12, 12)) for _ in range(3))
    write_system("sys_left_singular", D=[np.eye(12), lower[0] @ upper[0], others[0]], L=lower, U=upper, b=np.ones((3, 12)))
    # Ones beside a diagonal of zeros but for the last.
    ones = np.ones((4, 1, 1))
    write_system("sys_hollow", D=np.arange(5.0).reshape(5, 1, 1) // 4, L=ones, U=ones, b=np.ones((5, 1)))
    write_system("sys_hollow_symmetric", D=np.arange(5.0).reshape(5, 1, 1) // 4, L=ones, b=np.ones((5, 1)))
    write_system("sys_block_singular", D=spoilt(D, 1, 0.0), L=np.ones((4, 3, 3)), U=np.ones((4, 3, 3)))
    write_system("sys_no_L", L=None)
    write_system("sys_no_b", b=None)
    write_system("sys_D_nan", D=spoilt(D, (2, 1, 0), np.nan))
    write_system("sys_L_infinite", L=spoilt(L, (3, 0, 2), np.inf))
    write_system("sys_b_nan", b=spoilt(b, (4, 2, 1), np.nan))
    write_system("sys_fortran_nan", layout="fortran", D=spoilt(D, (1, 0, 2), np.nan),
                 b=np.swapaxes(b, 1, 2))
    write_system("sys_D_wide", D=np.zeros((5, 3, 4)))
    write_system("sys_D_flat", D=np.zeros(5))
    write_system("sys_D_empty", D=np.zeros((0, 3, 3)), L=np.zeros((0, 3, 3)), b=np.zeros((0, 3)))
    write_system("sys_D_no_rows", D=np.zeros((5, 0, 0)))
    write_system("sys_D_text", D=np.array([b"1"]))
    write_system("sys_L_long", L=np.zeros((5, 3, 3)))
    write_system("sys_L_small", L=np.zeros((4, 2, 2)))
    write_system("sys_b_short", b=np.zeros((4, 3)))
    write_system("sys_b_wide", b=np.zeros((5, 4)))
    write_system("sys_b_flat", b=np.zeros(15))
    write_system("sys_b_none", b=np.zeros((5, 3, 0)))
    write_system("sys_b_turned", b=np.swapaxes(b, 1, 2))
    write_system("sys_layout_wrong", layout="C")
    write_system("sys_many_problems", L=np.zeros((5, 3, 3)), b=np.zeros((4, 3)))


def not_hdf5():
    write("whole", y=np.arange(4096.0)[:, None])
    data = open("whole.h5", "rb").read()
    open("truncated.h5", "wb").write(data[:len(data) // 2])
    open("empty.h5", "wb").close()
    open("text.h5", "w").write("y,model\n1,2\n")
    open("classic.nc", "wb").write(b"CDF\x02" + bytes(60))
    open("older.mat", "wb").write(b"MATLAB 5.0 MAT-file, Platform: GLNXA64".ljust(128))
    open("short.h5", "wb").write(b"CDF")
    open("signature.h5", "wb").write(data[:8] + b"\xff" * 500)
    os.mkdir("folder.h5")
    os.mkdir("locked")


def main():
    os.chdir(sys.argv[1])
    good_forms()
    conventions()
    wrong_content()
    other_files()
    systems()
    not_hdf5()


main()
