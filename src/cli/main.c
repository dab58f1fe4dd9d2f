/* kalscan -- filtering and smoothing of HDF5 files from the command line.
 *
 * main() prepares the process and calls a command. The command reads its options (options.c, settings.c) and the input
 * (src/io), calls the library, writes the output (src/io) and prints a summary. All errors return here as one
 * ks_failure: its sentence is printed on stderr, its code is the exit code. */
#include <cblas.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "command.h"
#include "h5.h"
#include "help.h"
#include "options.h"
#include "temp_file.h"

static const struct {
    const char *name, *summary;
    ks_exit (*run)(const ks_call *call, ks_failure *failure);
} commands[] = {
    {"smooth", "estimates of each state from all observations", ks_command_smooth},
    {"filter", "estimates of each state from the observations up to its step", ks_command_filter},
    {"solve", "solution of a block-tridiagonal system", ks_command_solve},
    {"info", "contents of a file as kalscan reads it, and problems in it", ks_command_info},
    {"count", "operation counts of the methods on simulated parallel hardware", ks_command_count},
    {"bench", "time of the methods in memory", ks_command_bench},
    {"generate", "an input file with simulated data", ks_command_generate},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_help(void)
{
    printf("usage: kalscan COMMAND ...\n\n"
           "Filtering and smoothing of linear-Gaussian state-space models in HDF5 files.\n\n"
           "Commands (kalscan help COMMAND describes one)\n");
    for (int i = 0; i < COMMANDS; ++i)
        printf("  %-10s %s\n", commands[i].name, commands[i].summary);
    printf("\nOptions\n");
    ks_options_print(ks_common_options);
    printf("\nExamples\n"
           "  kalscan generate constant-velocity --T 1000 -o in.h5\n"
           "  kalscan info in.h5\n"
           "  kalscan smooth in.h5 -o out.h5\n"
           "  kalscan filter in.h5 -o filtered.h5 --innovations --json\n"
           "  kalscan generate blocktri -o system.h5\n"
           "  kalscan solve system.h5 -o x.h5\n");
    ks_help_model();
    ks_help_exit_codes();
}

static ks_exit unknown_command(const char *name, ks_failure *failure)
{
    char known[256] = "";
    for (int i = 0; i < COMMANDS; ++i) {
        const size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", commands[i].name);
    }
    return ks_fail(failure, KS_EXIT_USAGE, "unknown command '%.100s'; this version has %s", name,
                   known);
}

/* Append a word, quoted if a shell needs it. */
static void append_quoted(char *line, size_t size, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_=+.,:/@%";
    size_t used = strlen(line);
    const bool quote = word[0] == '\0' || strspn(word, plain) != strlen(word);
    used += (size_t)snprintf(line + used, size - used, "%s%s", used ? " " : "", quote ? "'" : "");
    for (; *word && used + 8 < size; ++word) {
        if (*word == '\'') used += (size_t)snprintf(line + used, size - used, "'\\''");
        else line[used++] = *word;
        line[used] = '\0';
    }
    if (quote && used + 2 < size) snprintf(line + used, size - used, "'");
}

static void command_line(int argc, char **argv, char *line, size_t size)
{
    snprintf(line, size, "kalscan");
    for (int i = 1; i < argc && strlen(line) + 16 < size; ++i) append_quoted(line, size, argv[i]);
}

static bool asks_for_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

static ks_exit dispatch(int argc, char **argv, ks_failure *failure)
{
    static char line[3072];
    if (argc < 2)
        return ks_fail(failure, KS_EXIT_USAGE, "no command; kalscan --help lists them");
    /* `help smooth` means `smooth --help`. */
    const bool help = strcmp(argv[1], "help") == 0;
    if (asks_for_help(argv[1]) && (!help || argc == 2 || asks_for_help(argv[2]))) {
        print_help();
        return KS_EXIT_DONE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        ks_print_version();
        return KS_EXIT_DONE;
    }
    if (argv[1][0] == '-')
        return ks_fail(failure, KS_EXIT_USAGE,
                       "unknown option '%.100s'; before a command there are --help, --version",
                       argv[1]);
    if (help && argc > 3)
        return ks_fail(failure, KS_EXIT_USAGE, "help tells of one command, but got '%.100s' and '%.100s'", argv[2], argv[3]);
    command_line(argc, argv, line, sizeof line);
    static char help_option[] = "--help";
    char *help_options[] = {help_option, NULL};
    const char *name = help ? argv[2] : argv[1];
    const ks_call call = {help ? 1 : argc - 2, help ? help_options : argv + 2, line};
    for (int i = 0; i < COMMANDS; ++i)
        if (strcmp(name, commands[i].name) == 0) return commands[i].run(&call, failure);
    return unknown_command(name, failure);
}

/* In OpenBLAS with POSIX threads; no header declares it. */
extern int blas_thread_shutdown_(void) __attribute__((weak));

/* Plans manage the threads; OpenBLAS would add its own to each of them. The threads that it starts when it is loaded
 * spin while they wait, on processors that the threads of the plan need, for longer than it takes to smooth many a
 * series. */
static void quieten_openblas(void)
{
    openblas_set_num_threads(1);
    if (blas_thread_shutdown_) (void)blas_thread_shutdown_();
}

/* Each of these threads reserves some hundred megabytes of address space. If there is not enough, OpenBLAS retries
 * forever. Where address space is limited, the program therefore starts itself again without them. */
static void begin_without_threads(char **argv)
{
    static const char name[] = "OPENBLAS_NUM_THREADS";
    const char *number = getenv(name);
    struct rlimit space;
    if (getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY ||
        (number && strcmp(number, "1") == 0))
        return;
    if (setenv(name, "1", 1) == 0) (void)execv("/proc/self/exe", argv);
}

/* If standard input, output or error are closed, the next opened files would get their numbers, and messages would go
 * into the output. Open them in the wrong direction, so that using them still fails. */
static void fill_standard_files(void)
{
    static const int modes[] = {O_WRONLY, O_RDONLY, O_RDONLY};
    for (int file = 0; file < 3; ++file)
        if (fcntl(file, F_GETFD) < 0 && open("/dev/null", modes[file]) != file) return;
}

int main(int argc, char **argv)
{
    ks_failure failure = {0};
    fill_standard_files();
    begin_without_threads(argv);
    /* If a file may not grow further, fail to write instead of being killed. */
    signal(SIGXFSZ, SIG_IGN);
    ks_interrupt_install();
    quieten_openblas();
    if (ks_h5_start(&failure) == KS_EXIT_DONE) dispatch(argc, argv, &failure);
    if (fflush(stdout) != 0 || ferror(stdout))
        ks_fail(&failure, KS_EXIT_FILE, "cannot write to standard output");
    if (failure.code != KS_EXIT_DONE) fprintf(stderr, "kalscan: %s\n", failure.text);
    return (int)failure.code;
}
