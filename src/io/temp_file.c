/* realpath() belongs to the X/Open part of POSIX, sync_file_range() to Linux; this has both. */
#define _GNU_SOURCE

#include "temp_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "file_name.h"

/* The file that the signal handler removes. Written only while the signals are blocked. */
static char pending[PATH_MAX];

/* Set by whoever decides how the run ends: a signal that interrupts it, or the output that is about to get its name.
 * From then on the run is done, and ends as such. */
static atomic_flag decided = ATOMIC_FLAG_INIT;

volatile sig_atomic_t ks_interrupt_line_begun;

static void interrupted(int signal_number)
{
    static const char message[] = "\nkalscan: interrupted\n";
    const size_t skipped = ks_interrupt_line_begun ? 0 : 1;
    (void)signal_number;
    if (atomic_flag_test_and_set(&decided)) return;
    if (pending[0]) unlink(pending);
    const ssize_t written = write(STDERR_FILENO, message + skipped, sizeof message - 1 - skipped);
    (void)written;
    _exit(KS_EXIT_INTERRUPTED);
}

/* For SIGPIPE, SIGQUIT and SIGXCPU the parent process must see the signal that ended this one, so raise it again. */
static void ended(int signal_number)
{
    if (pending[0]) unlink(pending);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* Signals of a crash, and what they did before the handlers here: by default end the program, under a sanitizer report. */
static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
enum { CRASHES = sizeof crashes / sizeof *crashes };
static struct sigaction as_before[CRASHES];

/* The instruction at fault runs again when this returns, and the fault is then treated as before. A signal that was sent
 * is sent again. */
static void crashed(int signal_number, siginfo_t *info, void *unused)
{
    (void)unused;
    if (pending[0]) unlink(pending);
    for (int i = 0; i < CRASHES; ++i)
        if (crashes[i] == signal_number) sigaction(signal_number, &as_before[i], NULL);
    if (info->si_code <= 0) raise(signal_number);
}

static const struct { int number; void (*handler)(int); } signals[] = {
    {SIGINT, interrupted}, {SIGTERM, interrupted}, {SIGHUP, interrupted},
    {SIGPIPE, ended}, {SIGQUIT, ended}, {SIGXCPU, ended}};
enum { SIGNALS = sizeof signals / sizeof *signals };

static void interrupt_signals(sigset_t *set)
{
    sigemptyset(set);
    for (int i = 0; i < SIGNALS; ++i) sigaddset(set, signals[i].number);
}

void ks_interrupt_install(void)
{
    for (int i = 0; i < SIGNALS; ++i) {
        struct sigaction before, action = {.sa_handler = signals[i].handler, .sa_flags = SA_RESTART};
        interrupt_signals(&action.sa_mask);
        /* nohup, and simple shells for background jobs, ignore signals: leave these ignored. */
        if (sigaction(signals[i].number, NULL, &before) == 0 && before.sa_handler == SIG_IGN) continue;
        sigaction(signals[i].number, &action, NULL);
    }
    for (int i = 0; i < CRASHES; ++i) {
        struct sigaction action = {.sa_sigaction = crashed, .sa_flags = SA_SIGINFO};
        interrupt_signals(&action.sa_mask);
        sigaction(crashes[i], &action, &as_before[i]);
    }
}

static void set_pending(const char *path)
{
    sigset_t set, before;
    interrupt_signals(&set);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    snprintf(pending, sizeof pending, "%s", path);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

ks_exit ks_target_resolve(const char *target, char resolved[PATH_MAX], ks_failure *failure)
{
    if (target[0] == '\0' || strlen(target) + 32 > PATH_MAX)
        return ks_fail(failure, KS_EXIT_FILE, "%s: cannot write: the name is empty or too long",
                       target);
    char *real = realpath(target, NULL);
    snprintf(resolved, PATH_MAX, "%s", real ? real : target);
    free(real);
    return KS_EXIT_DONE;
}

/* The permissions that the file would have if it were created or replaced directly. */
static mode_t target_mode(const char *target)
{
    struct stat status;
    if (stat(target, &status) == 0) return status.st_mode & 0777;
    const mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

ks_exit ks_temp_create(ks_temp_file *temp, const char *target, bool replace, ks_failure *failure)
{
    char folder[PATH_MAX];
    sigset_t set, before;
    temp->descriptor = -1;
    temp->replace = replace;
    if (ks_target_resolve(target, temp->target, failure)) return failure->code;
    snprintf(temp->name, sizeof temp->name, "%s", target);
    ks_folder_of(temp->target, folder);
    if (snprintf(temp->path, sizeof temp->path, "%s/.kalscan-XXXXXX", folder) >=
        (int)sizeof temp->path)
        return ks_fail(failure, KS_EXIT_FILE, "%s: cannot write: the name is too long", target);
    interrupt_signals(&set);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    atomic_flag_clear(&decided);
    temp->descriptor = mkstemp(temp->path);
    const int error = errno;
    if (temp->descriptor >= 0) snprintf(pending, sizeof pending, "%s", temp->path);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (temp->descriptor < 0)
        return ks_fail(failure, KS_EXIT_FILE, "%s: cannot write in folder %s: %s", target, folder,
                       strerror(error));
    return KS_EXIT_DONE;
}

void ks_temp_ripen(const ks_temp_file *temp)
{
#ifdef SYNC_FILE_RANGE_WRITE
    /* If the file system cannot do it, fsync() writes everything. It also reports errors. */
    const int begun = sync_file_range(temp->descriptor, 0, 0, SYNC_FILE_RANGE_WRITE);
    (void)begun;
#else
    (void)temp;
#endif
}

/* If the target may not be replaced, use link(): rename() would replace a file that has appeared in the meantime. */
static int give_name(const ks_temp_file *temp)
{
    if (!temp->replace) {
        if (link(temp->path, temp->target) == 0) {
            unlink(temp->path);
            return 0;
        }
        if (errno == EEXIST) return -1;
    }
    return rename(temp->path, temp->target);
}

ks_exit ks_temp_commit(ks_temp_file *temp, ks_failure *failure)
{
    char folder[PATH_MAX];
    /* Only now: a target without write permission could not be replaced. If the file system has no permissions, those
     * it gives are accepted. */
    const int moded = fchmod(temp->descriptor, target_mode(temp->target));
    (void)moded;
    const int written = fsync(temp->descriptor) == 0 || errno == EINVAL || errno == EROFS;
    if (!written) ks_fail(failure, KS_EXIT_FILE, "%s: cannot write: %s", temp->name, strerror(errno));
    /* A signal that came first ends the process in another thread. */
    while (written && atomic_flag_test_and_set(&decided)) pause();
    if (written && give_name(temp) != 0) {
        if (errno == EEXIST)
            ks_fail(failure, KS_EXIT_USAGE, "%s: exists: another program has made it meanwhile; use --force to "
                    "replace it", temp->name);
        else
            ks_fail(failure, KS_EXIT_FILE, "%s: cannot give the output its name: %s", temp->name, strerror(errno));
    }
    if (failure->code) {
        ks_temp_discard(temp);
        if (written) atomic_flag_clear(&decided);
        return failure->code;
    }
    set_pending("");
    close(temp->descriptor);
    temp->descriptor = -1;
    /* The new name is durable once its folder is written. A file system that cannot do that is not a failure. */
    ks_folder_of(temp->target, folder);
    const int folder_descriptor = open(folder, O_RDONLY | O_CLOEXEC);
    if (folder_descriptor >= 0) {
        const int flushed = fsync(folder_descriptor);
        (void)flushed;
        close(folder_descriptor);
    }
    return KS_EXIT_DONE;
}

void ks_temp_discard(ks_temp_file *temp)
{
    if (temp->descriptor < 0) return;
    unlink(temp->path);
    set_pending("");
    close(temp->descriptor);
    temp->descriptor = -1;
}
