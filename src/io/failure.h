/* failure.h -- how functions of the program report an error: an exit code and one sentence for the user. */
#ifndef KS_IO_FAILURE_H
#define KS_IO_FAILURE_H

#include <stdarg.h>
#include <stddef.h>

/** The exit codes of the program. Scripts depend on them. */
typedef enum ks_exit {
    KS_EXIT_DONE = 0,
    KS_EXIT_NUMERICAL = 1,     /**< numerical failure, or a method refuses the model    */
    KS_EXIT_USAGE = 2,         /**< command line; output exists or is the input         */
    KS_EXIT_CONTENT = 3,       /**< HDF5 with the wrong content                         */
    KS_EXIT_FILE = 4,          /**< file missing, unreadable, not HDF5, or not writable */
    KS_EXIT_RESOURCES = 5,     /**< out of memory, or no such device                    */
    KS_EXIT_INTERRUPTED = 130
} ks_exit;

#define KS_FAILURE_TEXT 1024

/** Initialize with zeros: no failure yet. */
typedef struct ks_failure {
    ks_exit code;
    char text[KS_FAILURE_TEXT];  /**< without program name and newline */
} ks_failure;

/** Replace control characters by \x1b and the like, in place. They come from files and could control a terminal. What
 *  no longer fits into `size` bytes is cut off. */
void ks_text_escape(char *text, size_t size);

/** Print into a text of `size` bytes, with control characters escaped. If the text is too long, its middle is left out:
 *  a message begins with the name of a file, which may be long, and ends with the reason. */
void ks_text_fit(char *text, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

/** Record a failure and return its code. Only the first failure is kept; later ones are its consequences. */
ks_exit ks_fail(ks_failure *failure, ks_exit code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
