/* system_file.h -- a block-tridiagonal system in a file: /D, /L, optionally /U, and /b. In the compact form /D_dia
 * holds tridiagonal blocks of D, and the groups /L, /U hold triples. Opening examines shapes and attributes only,
 * loading reads the values. */
#ifndef KS_IO_SYSTEM_FILE_H
#define KS_IO_SYSTEM_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <hdf5.h>
#include "kalscan/number.h"
#include "convention.h"
#include "dataset.h"
#include "failure.h"
#include "problems.h"

typedef enum ks_system_name {
    KS_SYSTEM_D,  /**< diagonal blocks A[i, i]                                            */
    KS_SYSTEM_L,  /**< sub-diagonal blocks A[i + 1, i]                                    */
    KS_SYSTEM_U,  /**< super-diagonal blocks A[i, i + 1]; absent: the matrix is symmetric */
    KS_SYSTEM_B,  /**< right-hand sides                                                   */
    KS_SYSTEM_D_DIA, /**< instead of D: (N, 3, n), sub-, main and super-diagonals */
    KS_SYSTEM_ARRAYS
} ks_system_name;

typedef struct ks_system_array {
    ks_dataset dataset;      /**< id -1: absent                                                             */
    ks_fit fit;              /**< its step axis is that of the blocks; -1: a single block without that axis */
    int64_t blocks;          /**< 0 if absent                                                               */
    int rows, columns;       /**< of a block in memory                                                      */
    void *data;              /**< row-major blocks, contiguous; owned; NULL until loaded                    */
} ks_system_array;

/** Entries of the blocks below or above the diagonal: a group of four lists. */
typedef struct ks_system_triples {
    bool found;
    int64_t count;
    ks_dataset datasets[4];  /**< block, row, col, value                                         */
    int64_t *block, *row, *col;  /**< owned; NULL until loaded                                   */
    double *value;
} ks_system_triples;

typedef struct ks_system {
    const char *name;        /**< of the file, borrowed                                          */
    hid_t file;
    int64_t N;               /**< number of blocks, -1: not known                  */
    int n, nrhs;             /**< rows of a block, right-hand sides, -1: not known */
    ks_layout layout;
    bool layout_stated;      /**< by attribute or option */
    ks_precision precision;  /**< of the loaded arrays   */
    ks_system_array arrays[KS_SYSTEM_ARRAYS];
    ks_system_triples triples[2];  /**< of L and U, if they are groups */
    ks_problems problems;
    ks_notes notes;          /**< what may be a mistake */
} ks_system;

/** Whether the file has blocks above the diagonal. Without them the system is symmetric. */
bool ks_system_has_upper(const ks_system *system);

/** Whether any part of the system is in the compact form. */
bool ks_system_is_compact(const ks_system *system);

/** Open a system and determine its sizes. layout -1: as the root's attribute `layout` says, else c. On success the
 *  caller owns *out and closes it with ks_system_close(). Its `problems` list what is wrong with the content. On
 *  failure *out is NULL. */
ks_exit ks_system_open(ks_system **out, const char *file, int layout, ks_failure *failure);

/** Fail (KS_EXIT_USAGE) if the output is a file that holds values of the system, also behind links. output NULL:
 *  none. */
ks_exit ks_system_spare(const ks_system *system, const char *output, ks_failure *failure);

/** Return the bytes that loading a system without problems allocates; SIZE_MAX if they overflow. */
size_t ks_system_bytes(const ks_system *system, ks_precision precision);

/** Read and check all values in one precision. lower: the strictly upper triangles of D's blocks are not checked. Wrong
 *  values are added to problems, one for each array. progress may be NULL. Call it once, and only for a system without
 *  problems. */
ks_exit ks_system_load(ks_system *system, ks_precision precision, bool lower,
                       ks_io_progress progress, void *user, ks_failure *failure);

/** Note the first entry above the diagonal of a loaded symmetric system that is neither zero nor equal to the one below,
 *  and the first that is not finite. The author of the file may have meant a general system. */
void ks_system_note_upper(ks_system *system);

/** Close the file and free everything. NULL is allowed. */
void ks_system_close(ks_system *system);

/** Note objects whose names differ from those of the parts only in case. */
void ks_system_note_unread(ks_system *system);

/* Parts of system_open.c and system_load.c for triples, in system_triples.c. */
ks_exit ks_system_open_triples(ks_system *system, int side, ks_failure *failure);
size_t ks_system_triples_bytes(const ks_system_triples *triples);
ks_exit ks_system_load_triples(ks_system *system, int side, ks_failure *failure);
void ks_system_free_triples(ks_system_triples *triples);

#endif
