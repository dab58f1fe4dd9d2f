"""Diffuse starts, prior N(m0, P0 + kappa P0_inf) with kappa to infinity: the limits in tests/golden/diffuse from
every method, what must not change them, and what is refused.
usage: check_diffuse.py KALSCAN [GOLDEN_FOLDER [SCRATCH]] [-v]     -v: the largest error of each case and method"""
import argparse
import collections
import glob
import os
import re
import subprocess
import tempfile

import h5py
import numpy as np

# Errors allowed: means and residuals in standard deviations, covariances relative to those of both entries, the
# log-likelihood relative to max(1, |loglik|).
TOLERANCE = dict(f64=1e-8, f32=5e-3, mixed=5e-3)
EPSILON = dict(f64=2.0**-53, f32=2.0**-24, mixed=2.0**-24)
ROUNDINGS = 64                                  # of the largest mean or observation are allowed besides
LEAST_SD = dict(f64=1e-4, f32=1e-2, mixed=1e-2)    # relative to the largest: what is known exactly is judged by it
SMOOTHERS = ("auto", "sequential", "two-ended", "scan-rts", "scan-two-filter", "blocktri")
FILTERS = ("auto", "sequential", "scan")
ALWAYS = ("auto", "sequential")                 # never refuse
FEW = ("batch", "nile_gaps", "one_by_one", "rank_two", "trend")    # enough for what no number depends on
AXES = {"series", "time", "state", "state_2", "obs", "obs_2"}
KINDS = ("smoothed", "filtered", "predicted")

arguments = argparse.ArgumentParser()
arguments.add_argument("kalscan", type=os.path.abspath)
arguments.add_argument("golden", nargs="?", type=os.path.abspath, default=os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "golden", "diffuse"))
arguments.add_argument("scratch", nargs="?", type=os.path.abspath)
arguments.add_argument("-v", action="store_true", dest="verbose")
given = arguments.parse_args()
problems, taken, refused = [], collections.Counter(), collections.Counter()
seen = collections.defaultdict(lambda: (0.0, "", ""))      # per job, method and precision: the worst error / tolerance


def expect(condition, *what):
    if not condition:
        problems.append(" ".join(map(str, what)))
        print("BAD", problems[-1], flush=True)
    return condition


def call(*words):
    return subprocess.run([given.kalscan, *words], capture_output=True, text=True, check=False)


def read(name, group="/"):
    arrays = {}
    with h5py.File(name) as f:
        f[group].visititems(lambda k, v: arrays.update(
            {k: v[()]} if isinstance(v, h5py.Dataset) and k not in AXES else {}))
    return arrays


def model_of(name):
    """y, the datasets of /model and its attributes."""
    with h5py.File(name) as f:
        return f["y"][()], {k: v[()] for k, v in f["model"].items()}, dict(f["model"].attrs)


def write(name, y, model, attributes):
    with h5py.File(name, "w") as f:
        f["y"] = y
        for key, value in model.items():
            if value is not None:
                f["model/" + key] = value
        f["model"].attrs.update(attributes)
    return name


def estimates(job, source, *options):
    """The arrays of an output, or the result of a run that ended otherwise than with 0."""
    if os.path.exists("out.h5"):
        os.remove("out.h5")
    done = call(job, source, "-o", "out.h5", "--quiet", *options)
    if done.returncode:
        expect(not os.path.exists("out.h5"), job, source, *options, "failed and left an output")
        return done
    return read("out.h5")


def everything(job, source, *options):
    """With all outputs that the method has."""
    if job == "filter":
        return estimates(job, source, "--predicted", "--innovations", *options)
    made = estimates(job, source, "--lag-one", "--filtered", *options)
    if not isinstance(made, dict) and made.returncode == 2 and "--filtered" in made.stderr:
        made = estimates(job, source, "--lag-one", *options)
    return made


def identical(one, other):
    return one.keys() == other.keys() and all(
        one[k].dtype == other[k].dtype and np.array_equal(one[k], other[k], equal_nan=True) for k in one)


class Golden:
    """The expected arrays of a file, all with an axis of series in front, and the units of their errors."""

    def __init__(self, name):
        self.path, self.name = name, os.path.basename(name)[:-len(".h5")]
        self.y, self.model, self.attributes = model_of(name)
        lead = self.y.ndim == 3
        with h5py.File(name) as f:
            determined = f["expected"].attrs["determined"]
        self.arrays = {k: a if lead else a[None] for k, a in read(name, "expected").items()}
        self.determined = determined if lead else determined[None]

    def shifted(self, change):
        """The log-likelihood moves by `change` for each diffuse direction."""
        other = object.__new__(Golden)
        other.__dict__.update(self.__dict__)
        other.arrays = dict(self.arrays, loglik=self.arrays["loglik"] + change * self.determined.sum(-1),
                            loglik_terms=self.arrays["loglik_terms"] + change * self.determined)
        return other

    def deviations(self, kind, least):
        """Standard deviations (B, T, nx); where they are infinite the smoothed ones, which are finite."""
        var = np.einsum("btii->bti", self.arrays[kind + "/cov"])
        var = np.where(np.isinf(var), np.einsum("btii->bti", self.arrays["smoothed/cov"]), var)
        return np.sqrt(np.maximum(var, 0)).clip(least * np.sqrt(var.max(axis=(1, 2), keepdims=True)))

    def units(self, precision):
        least, out = LEAST_SD[precision], {}
        rounding = ROUNDINGS * EPSILON[precision] / TOLERANCE[precision] * max(
            np.nanmax(abs(self.y)), *(abs(self.arrays[kind + "/mean"]).max() for kind in KINDS))
        for kind in KINDS:
            sd = self.deviations(kind, least)
            out[kind + "/mean"] = np.maximum(sd, rounding)
            out[kind + "/cov"] = sd[..., :, None] * sd[..., None, :]
        sd = self.deviations("smoothed", least)
        before = np.concatenate([sd[:, :1], sd[:, :-1]], axis=1)
        if "smoothed/prior_cov" in self.arrays:
            var = np.einsum("bii->bi", self.arrays["smoothed/prior_cov"])
            before[:, 0] = np.sqrt(np.maximum(var, 0)).clip(least * sd.max(axis=(1, 2))[:, None])
            out["smoothed/prior_mean"] = np.maximum(before[:, 0], rounding)
            out["smoothed/prior_cov"] = before[:, 0, :, None] * before[:, 0, None, :]
        out["smoothed/lag_one_cov"] = sd[..., :, None] * before[..., None, :]
        var = np.einsum("btii->bti", self.arrays["innovations/cov"])
        finite = np.where(np.isfinite(var), var, 0).max(axis=1, keepdims=True)  # the largest of each entry
        finite = np.where(finite > 0, finite, (sd**2).max(axis=(1, 2), keepdims=True))
        sd = np.sqrt(np.where(np.isfinite(var), var, finite))
        out["innovations/cov"] = sd[..., :, None] * sd[..., None, :]
        out["innovations/residual"] = np.maximum(sd, rounding)
        out["innovations/standardized"] = out["innovations/residual"] / sd
        worse = (out["innovations/residual"] / sd).max(axis=(1, 2))
        out["loglik"] = np.maximum(1, abs(self.arrays["loglik"])) * worse
        out["loglik_terms"] = np.maximum(1, abs(self.arrays["loglik_terms"])) * worse[:, None]
        return out

    def errors(self, made, precision, only=None):
        """Of each array its largest error in units of the tolerance; infinite where inf or NaN are elsewhere."""
        units, out = self.units(precision), {}
        for key, value in made.items():
            if only and not re.search(only, key):
                continue
            if key not in self.arrays:
                out[key] = np.inf
                continue
            want = self.arrays[key]
            value = np.asarray(value, float)
            value = value if self.y.ndim == 3 else value[None]
            plain = np.isfinite(want)
            if value.shape != want.shape or not np.array_equal(value[~plain], want[~plain], equal_nan=True) or (
                    not np.isfinite(value[plain]).all()):
                out[key] = np.inf
                continue
            error = (abs(value[plain] - want[plain]) / units[key][plain]).max(initial=0)
            out[key] = error / TOLERANCE[precision]
        return out

    def compare(self, made, label, precision="f64", only=None):
        """Tell what is off; keep the worst error of each method."""
        errors = self.errors(made, precision, only)
        for key, error in errors.items():
            expect(error <= 1, self.name, *label, precision, key, f"is off by {error:.2e} tolerances",
                   "(inf, NaN or shape)" if np.isinf(error) else "")
        key = max(errors, key=errors.get)
        seen[*label, precision] = max(seen[*label, precision], (errors[key], self.name, key))
        if given.verbose:
            print(f"  {self.name:24s} {' '.join(label):24s} {precision:5s} {errors[key]:9.2e} of "
                  f"{TOLERANCE[precision]:.0e}  {key}", flush=True)


def all_cases():
    cases = [Golden(name) for name in sorted(glob.glob(os.path.join(given.golden, "*.h5")))]
    assert len(cases) >= 20, given.golden
    return cases


def few_cases():
    return [case for case in all_cases() if case.name in FEW]


def refusal(done, label, name, method):
    """A method may refuse a model, not `sequential`; the message then names one that takes it."""
    told = re.search("--method (sequential|two-ended|scan-rts|scan-two-filter|scan|blocktri)", done.stderr)
    expect(done.returncode == 1 and told and told[1] != method, name, *label, "exit", done.returncode, done.stderr)
    expect(method not in ALWAYS, name, *label, "refuses:", done.stderr)
    refused[label] += 1


def from_every_method():
    for case in all_cases():
        for precision in ("f64", "f32", "mixed"):
            for job, methods in (("smooth", SMOOTHERS), ("filter", FILTERS)):
                for method in {"f64": methods, "f32": methods[1:], "mixed": ("sequential",)}[precision]:
                    label, options = (job, method), ["--precision", precision]
                    if method != "auto":
                        options += ["--method", method]
                    made = everything(job, case.path, "--threads", "1", *options)
                    if not isinstance(made, dict):
                        if precision != "mixed":    # which need not go with a diffuse start
                            refusal(made, label, case.name, method)
                        else:
                            expect(made.returncode in (1, 2), case.name, *label, precision, made)
                        continue
                    taken[label] += 1
                    case.compare(made, label, precision)
                    required = {"smooth": ("smoothed/", "loglik"), "filter": ("filtered/", "pred", "innov", "loglik")}
                    for key in case.arrays:
                        if key.startswith(required[job]) and not (job == "smooth" and key == "loglik_terms"):
                            expect(key in made, case.name, *label, "has no", key)
                    if precision == "f64" and method != "auto" and case.name in FEW:  # auto may depend on the threads
                        other = everything(job, case.path, "--threads", "2", *options)
                        expect(isinstance(other, dict) and identical(made, other), case.name, *label,
                               "differs between 1 and 2 threads")


def variances_alone():
    """--cov diag has the diagonal of the matrices to the bit, also where it is infinite; --cov none has the means."""
    for case in few_cases():
        for job in ("smooth", "filter"):
            for part in ("diag", "none"):
                made, full = (everything(job, case.path, "--method", "sequential", "--cov", p) for p in (part, "full"))
                if not expect(isinstance(made, dict) and isinstance(full, dict), case.name, job, "--cov", part):
                    continue
                wanted = {}
                for key, value in full.items():
                    if key.split("/")[0] in KINDS and key.endswith("/cov"):
                        if part == "diag":
                            wanted[key + "_diag"] = np.einsum("...ii->...i", value)
                    else:
                        wanted[key] = value
                expect(identical(made, wanted), case.name, job, "--cov", part, "differs from the whole:", *made)


def scaled_prior():
    """c P0_inf for P0_inf is c kappa for kappa: log p + d/2 log kappa moves by -d/2 log c, nothing else does."""
    for case in all_cases():
        model = {k: 100 * a if "P0_inf" in k else a for k, a in case.model.items()}
        write("scaled.h5", case.y, model, case.attributes)
        for job in ("smooth", "filter"):
            made = everything(job, "scaled.h5", "--method", "sequential")
            if expect(isinstance(made, dict), case.name, job, "100 P0_inf:", made):
                case.shifted(-np.log(100) / 2).compare(made, (job, "100 P0_inf"))


def moved_mean():
    """m0 does not matter in diffuse directions, but to means before they are determined."""
    for case in all_cases():
        model = dict(case.model)
        columns = model["P0_inf"] if "P0_inf" in model else model["P0_inf_diag"][..., None] * np.eye(
            model["P0_inf_diag"].shape[-1])
        largest = abs(columns).max(axis=-2, keepdims=True)
        columns = columns / np.where(largest > 0, largest, 1)
        step = 4 * np.sqrt(np.einsum("...ii->...i", case.arrays["smoothed/cov"]).max())
        weights = step * np.where(np.arange(columns.shape[-1]) % 2, -0.75, 1)
        model["m0"] = model.get("m0", 0) + columns @ weights
        write("moved.h5", case.y, model, case.attributes)
        for job in ("smooth", "filter"):
            made = everything(job, "moved.h5", "--method", "sequential")
            if expect(isinstance(made, dict), case.name, job, "moved m0:", made):
                case.compare(made, (job, "moved m0"), only="smoothed/|loglik|cov|standardized")


def equal_forms():
    """A diagonal and its matrix, an axis of series, and zeros for what may be absent."""
    for case in few_cases():
        forms = {}
        if "P0_inf_diag" in case.model:
            diagonal = case.model["P0_inf_diag"]
            matrix = diagonal[..., None] * np.eye(diagonal.shape[-1])
            forms["matrix"] = dict(case.model, P0_inf=matrix, P0_inf_diag=None)
        for key, rank in (("P0_inf", 2), ("P0_inf_diag", 1)):
            if key in case.model and case.model[key].ndim == rank:
                forms["leading axis"] = dict(case.model, **{key: case.model[key][None]})
        n = case.arrays["smoothed/mean"].shape[-1]
        if "P0" not in case.model:
            forms["zero P0"] = dict(case.model, P0=np.zeros((n, n)))
            forms["zero P0_diag"] = dict(case.model, P0_diag=np.zeros(n))
        if "m0" not in case.model:
            forms["zero m0"] = dict(case.model, m0=np.zeros(n))
        plain = everything("filter", case.path), everything("smooth", case.path)
        for form, model in forms.items():
            write("form.h5", case.y, model, case.attributes)
            made = everything("filter", "form.h5"), everything("smooth", "form.h5")
            expect(all(isinstance(a, dict) and isinstance(b, dict) and identical(a, b) for a, b in zip(made, plain)),
                   case.name, "differs with", form)


def example(**changes):
    """A local linear trend, all of it diffuse."""
    model = dict(F=[[1.0, 1], [0, 1]], Q_diag=[0.5, 0.25], H=[[1.0, 0]], R=1.0, P0_inf_diag=np.ones(2))
    model.update(changes)
    y = np.array(model.pop("y", np.cumsum([3.0, 1, -1, 2, 0.5, np.nan, 1])))
    return write("example.h5", y, model, dict(prior=model.pop("prior", "x1")))


def nothing_diffuse():
    """P0_inf = 0 is no diffuse start."""
    for prior in ("x0", "x1"):
        both = []
        for diffuse in (np.zeros(2), None):
            example(P0_inf_diag=diffuse, P0=np.eye(2), m0=np.ones(2), prior=prior)
            both.append([everything(job, "example.h5", "--method", "sequential") for job in ("smooth", "filter")])
        for with_it, without in zip(*both):
            expect(isinstance(with_it, dict) and isinstance(without, dict) and with_it.keys() == without.keys() and all(
                np.allclose(with_it[k], without[k], rtol=1e-12, atol=1e-12, equal_nan=True) for k in without),
                   "P0_inf = 0 differs from a model without it, prior", prior)


def undetermined():
    """What y does not determine has no smoothed estimate, but a filtered one of infinite variance."""
    for y, prior in ((np.full(5, np.nan), "x0"), (np.full(5, np.nan), "x1"), ([1.0], "x1"), ([1.0], "x0"),
                     ([np.nan, np.nan, 2.0, np.nan], "x1")):
        example(y=y, prior=prior)
        for method in SMOOTHERS:
            done = estimates("smooth", "example.h5", *(["--method", method] if method != "auto" else []))
            expect(not isinstance(done, dict) and done.returncode == 1 and done.stderr.startswith("kalscan: "),
                   "smooth of an undetermined state:", method, done)
        for method in FILTERS:
            made = everything("filter", "example.h5", *(["--method", method] if method != "auto" else []))
            if not isinstance(made, dict):
                refusal(made, ("filter", method), "undetermined", method)
                continue
            label = ("filter", method, "of", *y)
            before = np.isnan(y).cumprod().astype(bool)     # nothing was seen yet
            expect(np.isposinf(np.einsum("kii->ki", made["filtered/cov"])[before]).all(), *label, "variances")
            expect(np.isposinf(np.einsum("kii->ki", made["filtered/cov"]).max(axis=-1)).all(), *label, "variances")
            expect(np.isposinf(np.einsum("kii->ki", made["predicted/cov"])).all(), *label, "predicted variances")
            if before.all():
                expect(not np.any(made["loglik_terms"]) and not np.any(made["filtered/mean"]), *label, "terms, means")
            for key in ("filtered/mean", "predicted/mean", "loglik_terms", "loglik"):
                expect(np.isfinite(made[key]).all(), *label, key, made[key])
            expect(not any(np.isnan(made[kind + "/cov"]).any() for kind in ("filtered", "predicted")), *label, "NaN")
            expect(np.isclose(made["loglik"], np.sum(made["loglik_terms"])), *label, "loglik", made["loglik"])


def refused_files():
    """Exit 3, with the name of the dataset."""
    good = np.eye(2)
    for what, changes in (
            ("not symmetric", dict(P0_inf=[[1.0, 0.5], [0.25, 1]])), ("indefinite", dict(P0_inf=[[1.0, 2], [2, 1]])),
            ("negative", dict(P0_inf=-good)), ("a vector", dict(P0_inf=np.ones(2))),
            ("too large", dict(P0_inf=np.eye(3))), ("not square", dict(P0_inf=np.ones((2, 3)))),
            ("per step", dict(P0_inf=np.tile(good, (7, 1, 1)))),
            ("NaN", dict(P0_inf=[[1.0, np.nan], [np.nan, 1]])), ("Inf", dict(P0_inf=np.diag([np.inf, 1]))),
            ("text", dict(P0_inf="eye")), ("both", dict(P0_inf=good, P0_inf_diag=np.ones(2))),
            ("a long diagonal", dict(P0_inf_diag=np.ones(3))), ("a negative diagonal", dict(P0_inf_diag=[1.0, -1])),
            ("a diagonal with NaN", dict(P0_inf_diag=[1.0, np.nan]))):
        example(**dict(dict(P0_inf_diag=None), **changes))
        for job in ("smooth", "filter"):
            done = estimates(job, "example.h5")
            names = [key for key in changes if changes[key] is not None]
            expect(not isinstance(done, dict) and done.returncode == 3 and all(
                re.search(rf"\b{name}\b", done.stderr) for name in names), job, "P0_inf that is", what, "gives", done)
    example(P0_inf_diag=None)
    done = estimates("smooth", "example.h5")
    expect(not isinstance(done, dict) and done.returncode == 3 and re.search("/model/(m0|P0)", done.stderr),
           "neither prior nor P0_inf:", done)


def option():
    """--diffuse is P0_inf = I without P0 and m0, whatever the file has for those."""
    for case in few_cases():
        n = case.arrays["smoothed/mean"].shape[-1]
        bare = {k: a for k, a in case.model.items() if k.split("_")[0] not in ("m0", "P0")}
        write("ones.h5", case.y, dict(bare, P0_inf_diag=np.ones(n)), case.attributes)
        write("bare.h5", case.y, bare, case.attributes)
        write("other.h5", case.y, dict(bare, m0=np.full(n, np.nan), P0=np.full((n, n), 7.0)), case.attributes)
        for job in ("smooth", "filter"):
            ones = everything(job, "ones.h5", "--method", "sequential")
            for source in ("bare.h5", "other.h5"):
                made = everything(job, source, "--method", "sequential", "--diffuse")
                if isinstance(ones, dict) and isinstance(made, dict):
                    expect(identical(made, ones), case.name, job, source, "--diffuse differs from P0_inf = I")
                else:       # y need not determine all states
                    expect(not isinstance(ones, dict) and not isinstance(made, dict) and
                           ones.returncode == made.returncode == 1 and job == "smooth", case.name, job, source,
                           "--diffuse:", made if not isinstance(made, dict) else ones)


def per_step(case, key, rank):
    """An array of the model with axes of series and steps; zeros if it is absent, a matrix if the diagonal is given."""
    steps, series = case.y.shape[-2], case.y.shape[0] if case.y.ndim == 3 else 1
    n, m = case.arrays["smoothed/mean"].shape[-1], case.y.shape[-1]
    shape = dict(F=(n, n), Q=(n, n), u=(n,), H=(m, n), R=(m, m), d=(m,), m0=(n,), P0=(n, n), P0_inf=(n, n))[key]
    if key + "_diag" in case.model:
        diagonal = np.asarray(case.model[key + "_diag"], float)
        a = diagonal[..., None] * np.eye(shape[0])
    else:
        a = np.asarray(case.model.get(key, np.zeros(shape)), float)
    if rank == 1:                                   # no axis of steps
        a = a if a.ndim > len(shape) else a[None]
        return np.broadcast_to(a, (series, *shape))
    a = a.reshape((1,) * (len(shape) + 2 - a.ndim) + a.shape)
    return np.broadcast_to(a, (series, steps, *shape))


def signals():
    """The signal of a filter is the estimate of a further state that is H x + d."""
    for case in all_cases():
        if case.attributes.get("layout", "c") not in ("c", b"c") or case.attributes.get("transition", "into") != "into":
            continue
        first = str(case.attributes.get("prior", "x0")) == "x1"
        F, Q, u, H, R, d = (per_step(case, key, 2) for key in ("F", "Q", "u", "H", "R", "d"))
        m0, P0, P0_inf = (per_step(case, key, 1) for key in ("m0", "P0", "P0_inf"))
        series, steps, m, n = H.shape
        both = np.concatenate([np.broadcast_to(np.eye(n), (series, steps, n, n)), H], axis=2)
        turned = both.swapaxes(2, 3)
        before = both[:, 0] if first else np.concatenate([np.eye(n), np.zeros((m, n))])[None]
        offset = d[:, 0] if first else np.zeros(m)
        model = dict(
            F=np.concatenate([both @ F, np.zeros((series, steps, n + m, m))], axis=3), Q=both @ Q @ turned,
            u=np.einsum("btij,btj->bti", both, u) + np.concatenate([np.zeros((series, steps, n)), d], axis=2),
            H=np.broadcast_to(np.concatenate([np.zeros((m, n)), np.eye(m)], axis=1), (series, steps, m, n + m)), R=R,
            m0=np.einsum("bij,bj->bi", before, m0) + np.concatenate([np.zeros(n), np.ones(m)]) * np.pad(
                np.broadcast_to(offset, (series, m)), ((0, 0), (n, 0))),
            P0=before @ P0 @ before.swapaxes(1, 2), P0_inf=before @ P0_inf @ before.swapaxes(1, 2))
        for key in ("Q", "P0", "P0_inf"):
            model[key] = (model[key] + model[key].swapaxes(-1, -2)) / 2
        y = case.y if case.y.ndim == 3 else case.y[None]
        write("further.h5", y, model, dict(prior="x1" if first else "x0"))
        whole = estimates("filter", "further.h5", "--method", "sequential")
        made = estimates("filter", case.path, "--method", "sequential", "--signal")
        if not expect(isinstance(whole, dict) and isinstance(made, dict), case.name, "signal:", whole, made):
            continue
        mean, cov, observed = (np.asarray(made["signal/" + k]).reshape(series, steps, *[m] * r)
                               for k, r in (("mean", 1), ("cov", 2), ("observed_var", 1)))
        want_mean, want_cov = whole["filtered/mean"][..., n:], whole["filtered/cov"][..., n:, n:]
        plain = np.isfinite(want_cov)
        expect(np.array_equal(cov[~plain], want_cov[~plain]) and np.isfinite(cov[plain]).all(), case.name,
               "signal: infinite elsewhere")
        diagonal = np.einsum("btii->bti", np.where(plain, want_cov, 0))
        sd = np.sqrt(np.maximum(diagonal, 0)) + np.sqrt(np.maximum(np.einsum("btii->bti", R), 0))
        sd = np.maximum(sd, LEAST_SD["f64"] * np.maximum(sd.max(), 1e-300))
        rounding = ROUNDINGS * EPSILON["f64"] / TOLERANCE["f64"] * max(np.nanmax(abs(y)), abs(want_mean).max())
        errors = (abs(mean - want_mean) / np.maximum(sd, rounding)).max(), (abs(np.where(
            plain, cov, 0) - np.where(plain, want_cov, 0)) / (sd[..., :, None] * sd[..., None, :])).max()
        expect(max(errors) <= TOLERANCE["f64"], case.name, "signal is off:", *errors)
        expect(np.allclose(observed, np.einsum("btii->bti", cov + R), rtol=1e-14, atol=0), case.name, "observed_var")
        seen["filter", "signal", "f64"] = max(seen["filter", "signal", "f64"],
                                              (max(errors) / TOLERANCE["f64"], case.name, "signal"))
        parts = [estimates("filter", case.path, "--method", "sequential", "--signal", "--cov", p) for p in ("diag", "none")]
        expect(np.array_equal(parts[0]["signal/cov_diag"], np.einsum("...ii->...i", made["signal/cov"])) and all(
            np.array_equal(p["signal/mean"], made["signal/mean"]) for p in parts), case.name, "signal: --cov")


def main():
    for check in (from_every_method, signals, variances_alone, scaled_prior, moved_mean, equal_forms, nothing_diffuse,
                  undetermined, refused_files, option):
        before = len(problems)
        check()
        print("ok" if len(problems) == before else "not ok", check.__name__, flush=True)
    for label in sorted(taken.keys() | refused.keys()):
        print(f"{' '.join(label):24s} took {taken[label]:3d}, refused {refused[label]:3d}")
    for label, (error, name, key) in sorted(seen.items()):
        print(f"{' '.join(label):32s} worst {error * TOLERANCE[label[-1]]:9.2e}, allowed {TOLERANCE[label[-1]]:.0e}: "
              f"{name} {key}")
    return f"{len(problems)} problems" if problems else 0


with tempfile.TemporaryDirectory() as folder:
    if given.scratch:
        os.makedirs(given.scratch, exist_ok=True)
    os.chdir(given.scratch or folder)
    raise SystemExit(main())
