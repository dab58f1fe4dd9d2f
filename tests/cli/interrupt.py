"""Stop the program while it writes: whatever the signal, an older output stays whole and nothing
half-written gets its name; after the polite signals no temporary file is left and the exit code is
130. usage: interrupt.py KALSCAN"""
import os
import signal
import subprocess
import sys
import tempfile
import time

kalscan = os.path.abspath(sys.argv[1])
OLD = b"an older output\n"


def temporary():
    return [name for name in os.listdir(".") if name.startswith(".kalscan")]


def stop(arguments, number, existing):
    """Signal the program once its temporary file has grown; True when it was caught writing."""
    for name in temporary() + ["out.h5"]:
        if os.path.exists(name):
            os.remove(name)
    if existing:
        open("out.h5", "wb").write(OLD)
    p = subprocess.Popen([kalscan, *arguments, "-o", "out.h5", "--force", "--compress", "9",
                          "--quiet"], stderr=subprocess.PIPE)
    while p.poll() is None:
        sizes = [os.path.getsize(name) for name in temporary() if os.path.exists(name)]
        if sizes and max(sizes) > 100000:
            p.send_signal(number)
            break
        time.sleep(0.001)
    error = p.communicate(timeout=120)[1].decode()
    if p.returncode == 0:
        return False
    if existing:
        assert open("out.h5", "rb").read() == OLD
    else:
        assert not os.path.exists("out.h5")
    if number == signal.SIGKILL:
        assert p.returncode == -signal.SIGKILL
    else:
        assert p.returncode == 130, (p.returncode, error)
        assert error == "kalscan: interrupted\n", error
        assert not temporary(), temporary()
    return True


# A program started with a signal ignored, as nohup does, goes on ignoring it.
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    subprocess.run([kalscan, "generate", "random", "-o", "in.h5", "--T", "5e4", "--quiet"],
                   check=True)
    jobs = (["smooth", "in.h5"], ["generate", "random", "--T", "1e5"])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
        for arguments in jobs:
            for existing in (True, False):
                caught = any(stop(arguments, number, existing) for attempt in range(5))
                assert caught, "the program always finished before the signal"
        print("ok", signal.Signals(number).name)
    # Before anything is written, while the model is read, the same holds.
    p = subprocess.Popen([kalscan, "smooth", "in.h5", "-o", "new.h5"], stderr=subprocess.PIPE,
                         stdout=subprocess.DEVNULL)
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=120)
    assert p.returncode in (130, -signal.SIGINT) and not os.path.exists("new.h5")
