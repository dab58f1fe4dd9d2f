/* test_commit.c -- a signal at the moment at which an output gets its name: either the run is interrupted and nothing has
 * changed, or the output is there and the run ends as done. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "temp_file.h"

static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGABRT };
enum { FAULTS = sizeof faults / sizeof *faults };

/* When the signal comes: as the data are flushed, before the name is given, or after. */
enum when { FLUSHING, BEFORE, AFTER, MOMENTS };
static enum when moment;
static int number;

static void signal_at(enum when now)
{
    if (now == moment && number) raise(number);
}

/* In the place of the C library's functions of these names. */
int rename(const char *from, const char *to)
{
    signal_at(BEFORE);
    const int result = renameat(AT_FDCWD, from, AT_FDCWD, to);
    signal_at(AFTER);
    return result;
}

int link(const char *from, const char *to)
{
    signal_at(BEFORE);
    const int result = linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
    signal_at(AFTER);
    return result;
}

int fsync(int descriptor)
{
    struct stat status;
    assert_int_equal(fstat(descriptor, &status), 0);
    if (S_ISREG(status.st_mode)) signal_at(FLUSHING);
    return 0;
}

/** Write "new" to the file `out`; the process ends with the code of the run. */
static void write_output(int replace)
{
    ks_temp_file temp;
    ks_failure failure = { 0 };
    const int silent = open("/dev/null", O_WRONLY);
    (void)dup2(silent, STDERR_FILENO);
    /* Those of cmocka would go on with its tests. */
    for (int i = 0; i < FAULTS; ++i) signal(faults[i], SIG_DFL);
    /* One that the caller ignores stays ignored, and nohup ignores SIGHUP. */
    signal(SIGHUP, SIG_DFL);
    ks_interrupt_install();
    if (ks_temp_create(&temp, "out", replace, &failure)) _exit((int)failure.code);
    if (write(temp.descriptor, "new", 3) != 3) _exit(99);
    _exit((int)ks_temp_commit(&temp, &failure));
}

/** How the run ended: its exit code, or minus the signal. */
static int outcome(int replace)
{
    int status = 0;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) write_output(replace);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/** Whether the file `out` holds this text; NULL: there is none. */
static int holds(const char *text)
{
    char found[8] = "";
    const int file = open("out", O_RDONLY);
    if (file < 0) return !text;
    const ssize_t count = read(file, found, sizeof found - 1);
    close(file);
    return text && count == (ssize_t)strlen(text) && strcmp(found, text) == 0;
}

/** Files in the folder. */
static int files_here(void)
{
    int count = 0;
    DIR *folder = opendir(".");
    assert_non_null(folder);
    while (readdir(folder)) ++count;
    closedir(folder);
    return count - 2; /* "." and ".." */
}

static void put_old(int old)
{
    unlink("out");
    if (!old) return;
    const int file = open("out", O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(file, "old", 3), 3);
    close(file);
}

static void polite_signals(void **state)
{
    (void)state;
    static const int polite[] = { SIGINT, SIGTERM, SIGHUP };
    for (int i = 0; i < 3; ++i)
        for (int m = 0; m < MOMENTS; ++m)
            for (int replace = 0; replace < 2; ++replace) {
                number = polite[i];
                moment = (enum when)m;
                put_old(replace);
                const int code = outcome(replace);
                assert_int_equal(code, m == FLUSHING ? KS_EXIT_INTERRUPTED : KS_EXIT_DONE);
                assert_true(holds(m == FLUSHING ? replace ? "old" : NULL : "new"));
                assert_int_equal(files_here(), m == FLUSHING ? replace : 1);
            }
}

/** What a damaged file does to libhdf5. */
static void crashes(void **state)
{
    (void)state;
    moment = FLUSHING;
    for (int i = 0; i < FAULTS; ++i) {
        number = faults[i];
        put_old(1);
        assert_int_equal(outcome(1), -number);
        assert_true(holds("old"));
        assert_int_equal(files_here(), 1);
    }
}

/** Another file of that name stays. */
static void a_name_that_is_taken(void **state)
{
    (void)state;
    number = 0;
    put_old(1);
    assert_int_equal(outcome(0), KS_EXIT_USAGE);
    assert_true(holds("old"));
}

static int in_a_folder(void **state)
{
    static char name[] = "/tmp/kalscan-test-XXXXXX";
    *state = name;
    return mkdtemp(name) && chdir(name) == 0 ? 0 : 1;
}

/** Nothing is left but the output. */
static int out_of_the_folder(void **state)
{
    unlink("out");
    return chdir("/") == 0 && rmdir(*state) == 0 ? 0 : 1;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(polite_signals), cmocka_unit_test(crashes),
                                        cmocka_unit_test(a_name_that_is_taken) };
    return cmocka_run_group_tests(tests, in_a_folder, out_of_the_folder);
}
