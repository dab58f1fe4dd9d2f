"""Stop the program while it writes: whatever the signal, an older output stays whole and nothing
half-written gets its name; after the polite signals no temporary file is left and the exit code is
130, or the signal's own where that says why. An output that another program makes meanwhile is that program's. usage: interrupt.py KALSCAN"""
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time

kalscan = os.path.abspath(sys.argv[1])
OLD = b"an older output\n"
OWN = (signal.SIGPIPE, signal.SIGQUIT, signal.SIGXCPU)


def temporary():
    return [name for name in os.listdir(".") if name.startswith(".kalscan")]


def writing():
    """True when a temporary file has grown; one that is gone by now has been given its name."""
    try:
        return any(os.path.getsize(name) > 100000 for name in temporary())
    except FileNotFoundError:
        return False


def caught_writing(p):
    """Wait for the program to write and halt it there; False when it came to its end before."""
    while p.poll() is None:
        if writing():
            p.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, p.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            if writing():
                return True
            p.send_signal(signal.SIGCONT)
        time.sleep(0.001)
    return False


def clear():
    for name in temporary() + ["out.h5"]:
        if os.path.exists(name):
            os.remove(name)


def stop(arguments, number, existing):
    """Signal the program while it writes; True when the signal came before it had finished."""
    clear()
    if existing:
        open("out.h5", "wb").write(OLD)
    p = subprocess.Popen([kalscan, *arguments, "-o", "out.h5", "--force", "--compress", "9",
                          "--quiet"], stderr=subprocess.PIPE)
    if caught_writing(p):
        p.send_signal(number)
        p.send_signal(signal.SIGCONT)
    error = p.communicate(timeout=120)[1].decode()
    if p.returncode == 0:
        return False
    if existing:
        assert open("out.h5", "rb").read() == OLD
    else:
        assert not os.path.exists("out.h5")
    if number == signal.SIGKILL:
        assert p.returncode == -signal.SIGKILL
    elif number in OWN:
        assert p.returncode == -number and error == "", (p.returncode, error)
        assert not temporary(), temporary()
    else:
        assert p.returncode == 130, (p.returncode, error)
        assert error == "kalscan: interrupted\n", error
        assert not temporary(), temporary()
    return True


def overtake():
    """Give the output's name to another file while the program writes; True when it was writing still."""
    clear()
    p = subprocess.Popen([kalscan, "smooth", "in.h5", "-o", "out.h5", "--compress", "9", "--quiet"],
                         stderr=subprocess.PIPE)
    caught = caught_writing(p)
    if caught:
        open("out.h5", "wb").write(OLD)
        p.send_signal(signal.SIGCONT)
    error = p.communicate(timeout=120)[1].decode()
    if caught:
        assert p.returncode == 2, (p.returncode, error)
        assert error == "kalscan: out.h5: exists: another program has made it meanwhile; use --force to replace it\n", error
        assert open("out.h5", "rb").read() == OLD and not temporary(), temporary()
    return caught


# A program started with a signal ignored, as by nohup or in a shell's background, goes on ignoring it.
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, *OWN):
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
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in OWN:
        assert any(stop(jobs[0], number, True) for attempt in range(5)), "the program always finished before the signal"
        print("ok", signal.Signals(number).name)
    assert any(overtake() for attempt in range(5)), "the program always finished before"
    # Who started it may have it ignore a signal, as nohup does.
    p = subprocess.Popen([kalscan, "smooth", "in.h5", "-o", "held.h5", "--quiet"],
                         preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    while p.poll() is None:
        p.send_signal(signal.SIGHUP)
        time.sleep(0.01)
    assert p.returncode == 0 and os.path.exists("held.h5"), p.returncode
    # Before anything is written, while the model is read, the same holds.
    p = subprocess.Popen([kalscan, "smooth", "in.h5", "-o", "new.h5"], stderr=subprocess.PIPE,
                         stdout=subprocess.DEVNULL)
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=120)
    assert p.returncode in (130, -signal.SIGINT) and not os.path.exists("new.h5")
