/* gnuplot.c -- running gnuplot on a script, and naming the figure when it is complete. */
#include "gnuplot.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "temp_file.h"

enum { NOT_THERE = 127 };

static bool is_png(const ks_figure *figure)
{
    const size_t length = strlen(figure->name);
    return length > 4 && strcmp(figure->name + length - 4, ".png") == 0;
}

static void write_head(const ks_figure *figure, FILE *script)
{
    const int width = figure->width, height = figure->height;
    /* The user's own start-up file may have set an output. */
    fprintf(script, "set output\n");
    if (is_png(figure))
        fprintf(script,
                "if (strstrt(GPVAL_TERMINALS, 'pngcairo') > 0) {\n"
                "  set terminal pngcairo size %d,%d font ',11'\n"
                "} else {\n  set terminal png size %d,%d\n}\n", width, height, width, height);
    else
        fprintf(script, "set terminal svg size %d,%d font 'sans,11' background '#ffffff'\n",
                width, height);
    fprintf(script, "set grid ytics lt 1 lw 0.5 lc rgb '#cccccc'\n"
            "set border 3\nset tics nomirror\n");
}

/** Start gnuplot with a pipe to its input. It draws on its standard output, which is the file: if it could not open a
 *  file by name, it would write to the standard output of this program. Returns the process, or -1. */
static pid_t start_gnuplot(FILE **script, int file)
{
    int ends[2];
    if (pipe(ends)) return -1;
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[0], STDIN_FILENO);
        dup2(file, STDOUT_FILENO);
        close(file);
        close(ends[0]);
        close(ends[1]);
        execlp("gnuplot", "gnuplot", (char *)NULL);
        _exit(errno == ENOENT ? NOT_THERE : NOT_THERE - 1);
    }
    close(ends[0]);
    *script = child > 0 ? fdopen(ends[1], "w") : NULL;
    if (!*script) close(ends[1]);
    return child;
}

static ks_exit not_there(ks_failure *failure)
{
    return ks_fail(failure, KS_EXIT_RESOURCES,
                   "--plot needs gnuplot, which is not on the PATH (Debian: gnuplot-nox)");
}

ks_exit ks_figure_check(ks_failure *failure)
{
    char file[PATH_MAX];
    const char *path = getenv("PATH");
    /* Without the variable execlp() searches default places. */
    if (!path) return KS_EXIT_DONE;
    for (;;) {
        const size_t length = strcspn(path, ":");
        const int whole = snprintf(file, sizeof file, "%.*s%sgnuplot", (int)length, path, length ? "/" : "");
        if (whole < (int)sizeof file && access(file, X_OK) == 0) return KS_EXIT_DONE;
        if (path[length] == '\0') return not_there(failure);
        path += length + 1;
    }
}

/** Wait for gnuplot and report what went wrong. */
static ks_exit end_gnuplot(pid_t child, int written, ks_failure *failure)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_THERE)
        return not_there(failure);
    if (!written || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return ks_fail(failure, KS_EXIT_RESOURCES, "gnuplot could not draw the figure");
    return KS_EXIT_DONE;
}

/** Whether the figure ends as its format requires. gnuplot reports success even on a full disk. */
static bool is_whole(const char *path, bool png)
{
    static const char svg_end[] = "</svg>", png_end[] = "IEND\xae\x42\x60\x82";
    const char *end = png ? png_end : svg_end;
    const size_t length = strlen(end);
    char tail[16] = "";
    FILE *file = fopen(path, "rb");
    if (!file) return false;
    size_t read = 0;
    if (fseek(file, -(long)sizeof tail, SEEK_END) == 0)
        read = fread(tail, 1, sizeof tail, file);
    fclose(file);
    while (read > 0 && (tail[read - 1] == '\n' || tail[read - 1] == '\r')) --read;
    return read >= length && memcmp(tail + read - length, end, length) == 0;
}

static ks_exit draw(const ks_figure *figure, const ks_temp_file *temp, ks_failure *failure)
{
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    FILE *script = NULL;
    const pid_t child = start_gnuplot(&script, temp->descriptor);
    if (child < 0)
        return ks_fail(failure, KS_EXIT_RESOURCES, "cannot start gnuplot: %s", strerror(errno));
    int written = 0;
    if (script) {
        write_head(figure, script);
        figure->write(script, figure->user);
        fprintf(script, "set output\n");
        written = !ferror(script);
        written = fclose(script) == 0 && written;
    }
    signal(SIGPIPE, before);
    if (end_gnuplot(child, written, failure)) return failure->code;
    if (!is_whole(temp->path, is_png(figure)))
        return ks_fail(failure, KS_EXIT_FILE, "%s: cannot write the figure: gnuplot did not bring it "
                       "to its end, as on a full disk", figure->name);
    return KS_EXIT_DONE;
}

ks_exit ks_figure_draw(const ks_figure *figure, ks_failure *failure)
{
    ks_temp_file temp;
    if (ks_temp_create(&temp, figure->name, figure->replace, failure)) return failure->code;
    if (draw(figure, &temp, failure)) {
        ks_temp_discard(&temp);
        return failure->code;
    }
    return ks_temp_commit(&temp, failure);
}
