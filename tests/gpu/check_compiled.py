"""A device's test program with its kernels as nvcc compiled them (driver/ptx/) passes, and does not where the compiled
code has a mistake: each is made in a copy of it, and a test finds it or the run says what is wrong.

usage: check_compiled.py PROGRAM FOLDER_OF_THE_DRIVER FOLDER_OF_PTX"""
import os
import re
import subprocess
import sys
import tempfile

program, libraries, compiled = map(os.path.abspath, sys.argv[1:4])

# Kernel of probe.cu, what is replaced once in it, by what, and what is said; None: a test fails, whatever it says.
MISTAKES = [
    ("probe_sum", r"bar\.sync\s+0;", "", None),
    ("probe_sum", r"(st\.shared\.f64\s+\[%r\d+)", r"\1+4", "a word that is not aligned to its size"),
    ("probe_sum", r"(st\.shared\.f64\s+\[%r\d+)", r"\1+1048576", "a place outside of shared memory"),
    ("probe_sum", r"(st\.global\.f64\s+\[%rd\d+)", r"\1+1099511627776", "a place outside of the device's memory"),
    ("probe_sum", r"add\.f64", "add.rz.f64", "add.rz.f64 is not known"),
    ("probe_sum", r"cvta\.to\.global\.u64", "isspacep.global", "isspacep.global is not known"),
    ("probe_spread", r"barrier\.sync\s+0;\s+@", "@", None),
    ("probe_spread", r"atom\.add\.release\.gpu\.u32 (%r\d+),(\[%rd\d+\]),%r\d+;", r"ld.acquire.gpu.u32 \1,\2;",
     "never come to the grid's barrier"),
    ("probe_product", r"(\{%fd\d+\}), (\{%fd\d+\})", r"\2, \1", None),
    ("probe_bulk", r"mbarrier\.try_wait\.parity\.shared::cta\.b64 p,[^;]*;", "setp.eq.u32 p, 0, 0;", None),
    ("probe_warp", r"shfl\.sync\.up\.b32", "shfl.sync.down.b32", None),
    ("probe_warp", r"vote\.sync\.all\.pred", "vote.sync.any.pred", None),
]
# The same in other words.
SAME = [
    ("probe_sum", r"@(%p\d+) bra", r"xor.pred \1, \1, -1;\n\tnot.pred \1, \1;\n\t@\1 bra"),
]


def run(folder, **more):
    """The exit code, and what was said, the first fault of a kernel included."""
    with tempfile.TemporaryDirectory() as own:
        report = os.path.join(own, "report")
        environment = {**os.environ, "LD_LIBRARY_PATH": libraries, "KS_DRIVER_PTX": folder, "KS_DRIVER_REPORT": report, **more}
        done = subprocess.run([program], capture_output=True, text=True, env=environment, timeout=100)
        said = done.stdout + done.stderr
        if os.path.exists(report):
            with open(report, encoding="utf-8") as file:
                said += file.read()
    return done.returncode, said


def kernel_of(text, name):
    begin = text.index(f".entry {name}(")
    return begin, text.index("\n}\n", begin)


code, text = run(compiled)
assert code == 0, text
code, text = run(os.path.join(compiled, "nowhere"))
assert code != 0 and "it cannot be read" in text, text
with tempfile.TemporaryDirectory() as folder:
    code, text = run(compiled, KS_DRIVER_TRAFFIC=os.path.join(folder, "traffic"))
    assert code == 0, text
    with open(os.path.join(folder, "traffic"), encoding="utf-8") as file:
        traffic = file.read()
# Neighbours read and write neighbouring numbers; or lanes whose rows lie apart meet in banks, and write a sector each.
for kernel, operation, times in (("probe_stage", "ld.shared.f64", 1), ("probe_stage", "st.global.f64", 1),
                                 ("probe_bulk", "ld.shared.f64", 12), ("probe_bulk", "st.global.f64", 4)):
    found = re.findall(rf"{kernel} {operation}, line \d+: requests \d+, \w+ (\d+) of (\d+) needed", traffic)
    assert found and all(int(moved) == times * int(needed) for moved, needed in found), (kernel, operation, traffic)
assert re.search(r"kernel probe_stage launches 3 threads 384 warps 12 instructions [1-9]", traffic), traffic
with open(os.path.join(compiled, "probe.ptx"), encoding="utf-8") as file:
    right = file.read()


def run_changed(kernel, pattern, by, most):
    """The same of a copy of the compiled code in which what is like `pattern` is replaced in a kernel, all if `most` is 0."""
    first, last = kernel_of(right, kernel)
    changed, times = re.subn(pattern, by, right[first:last], count=most)
    assert times > 0, (kernel, pattern)
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "probe.ptx"), "w", encoding="utf-8") as file:
            file.write(right[:first] + changed + right[last:])
        return run(folder)


for kernel, pattern, by in SAME:
    code, text = run_changed(kernel, pattern, by, 0)
    assert code == 0, (kernel, pattern, text)
for kernel, pattern, by, said in MISTAKES:
    code, text = run_changed(kernel, pattern, by, 1)
    assert code != 0, (kernel, pattern, "nobody noticed")
    assert said is None or said in text, (kernel, pattern, text)
