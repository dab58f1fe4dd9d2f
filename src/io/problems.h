/* problems.h -- what is wrong with the content of a file. `info` lists all of it, the other
 * commands stop at the first. */
#ifndef KS_IO_PROBLEMS_H
#define KS_IO_PROBLEMS_H

#include "failure.h"

#define KS_PROBLEMS_KEPT 40

/** Zero-initialised: none found. */
typedef struct ks_problems {
    int count;  /**< all found; the first KS_PROBLEMS_KEPT have a text */
    char text[KS_PROBLEMS_KEPT][KS_FAILURE_TEXT];
} ks_problems;

void ks_problem_add(ks_problems *problems, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** KS_EXIT_CONTENT with the first problem as message; KS_EXIT_DONE where there is none. */
ks_exit ks_problems_fail(const ks_problems *problems, ks_failure *failure);

/** What is no problem but worth knowing. Zero-initialised: nothing. */
typedef struct ks_notes {
    int count;
    char text[16][512];
} ks_notes;

void ks_note_add(ks_notes *list, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
