"""Stop the program while it computes, as its progress bar tells: it ends there with exit code 130, an older output
stays whole and nothing else is left. usage: interrupt_compute.py KALSCAN"""
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile

kalscan = os.path.abspath(sys.argv[1])
OLD = b"an older output\n"
# Long enough on any machine: no step is remembered.
ALL = ("--steady-state", "compute")
JOBS = [("smooth", "--method", "sequential", *ALL), ("smooth", "--method", "two-ended", *ALL),
        ("smooth", "--method", "scan-rts", "--scan", "chunked"), ("filter", "--method", "scan", "--scan", "chunked")]


def read(terminal):
    """What comes next; nothing when the program has ended."""
    try:
        return os.read(terminal, 4096).decode()
    except OSError:
        return ""


def stop(job, number):
    """All that a terminal shows of a run that gets a signal when it has begun to compute."""
    terminal, error = pty.openpty()
    p = subprocess.Popen([kalscan, job[0], "in.h5", *job[1:], "--cov", "none", "--threads", "2", "-o", "out.h5",
                          "--force"], stderr=error, stdout=subprocess.PIPE, env={**os.environ, "TERM": "xterm"})
    os.close(error)
    shown = ""
    while "compute" not in shown and (text := read(terminal)):
        shown += text
    p.send_signal(number)
    while text := read(terminal):
        shown += text
    os.close(terminal)
    return p.communicate()[0], p.returncode, shown


# A program started with a signal ignored, as nohup does, goes on ignoring it.
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_DFL)
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    subprocess.run([kalscan, "generate", "rotation", "-o", "in.h5", "--nx", "64", "--ny", "32", "--T", "3e4", "--quiet"],
                   check=True)
    with open("out.h5", "wb") as f:
        f.write(OLD)
    for job in JOBS:
        for number in (signal.SIGINT, signal.SIGTERM):
            out, code, shown = stop(job, number)
            assert (out, code) == (b"", 130) and shown.endswith("%\r\nkalscan: interrupted\r\n"), (job, out, code, shown)
            # The bar begins after a tenth of a second; who heeds no signal takes it to its end.
            furthest = max(map(int, re.findall(r"compute *\[.*?\] *(\d+)%", shown)))
            assert furthest < 75, (job, shown)
            assert sorted(os.listdir()) == ["in.h5", "out.h5"], os.listdir()
            with open("out.h5", "rb") as f:
                assert f.read() == OLD, job
            print(*job, signal.Signals(number).name, f"{furthest}%")
