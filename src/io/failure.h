/* failure.h -- how the program's fallible functions tell what went wrong: an exit code and one
 * sentence for the user. */
#ifndef KS_IO_FAILURE_H
#define KS_IO_FAILURE_H

/** The exit codes of the program; scripts depend on them. */
typedef enum ks_exit {
    KS_EXIT_DONE = 0,
    KS_EXIT_NUMERICAL = 1,     /**< numerical failure, or a method refuses the model             */
    KS_EXIT_USAGE = 2,         /**< command line; output exists, or is the input                 */
    KS_EXIT_CONTENT = 3,       /**< HDF5 with the wrong content                                  */
    KS_EXIT_FILE = 4,          /**< a file missing, unreadable, not HDF5, or not writable        */
    KS_EXIT_RESOURCES = 5,     /**< out of memory, or the device is not there                    */
    KS_EXIT_INTERRUPTED = 130
} ks_exit;

#define KS_FAILURE_TEXT 1024

/** Zero-initialised: nothing failed yet. */
typedef struct ks_failure {
    ks_exit code;
    char text[KS_FAILURE_TEXT];  /**< without program name and newline; cut where too long */
} ks_failure;

/** Record a failure and return its code. The first failure stays; later ones are consequences. */
ks_exit ks_fail(ks_failure *failure, ks_exit code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
