/* problems.h -- errors in the content of a file. `info` lists all of them, other commands stop at the first. */
#ifndef KS_IO_PROBLEMS_H
#define KS_IO_PROBLEMS_H

#include <stdbool.h>
#include "failure.h"

#define KS_PROBLEMS_KEPT 40

/** Initialize with zeros: no problems. */
typedef struct ks_problems {
    int count;  /**< all found; the first KS_PROBLEMS_KEPT have a text */
    char text[KS_PROBLEMS_KEPT][KS_FAILURE_TEXT];
} ks_problems;

void ks_problem_add(ks_problems *problems, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Fail with KS_EXIT_CONTENT and the first problem as message; KS_EXIT_DONE if there is none. `listed`: `info` finds them,
 *  too, which reads values in double. */
ks_exit ks_problems_fail(const ks_problems *problems, bool listed, ks_failure *failure);

/** Remarks about a file that are not errors. Initialize with zeros: none. */
typedef struct ks_notes {
    int count;
    char text[16][512];
} ks_notes;

void ks_note_add(ks_notes *list, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
