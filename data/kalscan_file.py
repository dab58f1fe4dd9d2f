"""Write a kalscan input file: used by the make_*.py scripts of this folder."""
import h5py
import numpy as np


def put(group, name, a, attributes, compress):
    """Store an array; long ones in chunks along time."""
    a = np.asarray(a)
    options = {}
    if compress and a.shape[0] > 8192:
        options = dict(chunks=(8192,) + a.shape[1:], shuffle=True, compression=9)
    data = group.create_dataset(name, data=a, **options)
    for key, value in attributes.items():
        data.attrs[key] = value


def write(path, y, t, model, prior, title, source, y_attributes, t_attributes, compress=False):
    """y (T,) or (T, ny), t (T,), model: arrays by their names in the file. The time stamps become
    the dimension scale of y's first axis, so that plotting tools find them."""
    with h5py.File(path, "w") as f:
        f.attrs["title"], f.attrs["source"] = title, source
        put(f, "y", y, y_attributes, compress)
        put(f, "t", t, t_attributes, compress)
        f["t"].make_scale("t")
        f["y"].dims[0].attach_scale(f["t"])
        group = f.create_group("model")
        group.attrs["prior"] = prior
        for name, a in model.items():
            group[name] = np.asarray(a, float)
    print(f"{path}: T = {len(y)}, {int(np.sum(np.isnan(y)))} of {np.size(y)} entries missing")
