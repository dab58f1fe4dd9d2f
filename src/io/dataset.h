/* dataset.h -- one numeric dataset of an input file: what it is, and its values by hyperslabs. */
#ifndef KS_IO_DATASET_H
#define KS_IO_DATASET_H

#include <stdbool.h>
#include <stdint.h>
#include <hdf5.h>
#include "failure.h"
#include "problems.h"
#include "shape.h"

/** Characters of a path in a file, at most; a name of the model and what marks a diagonal come behind it. */
#define KS_PATH_MOST 1000

typedef struct ks_dataset {
    hid_t id;                   /**< -1: absent, or of no use                                     */
    const char *file;           /**< name of its file, borrowed                                   */
    char path[KS_PATH_MOST + 16];
    bool found;                 /**< something stands at the path, or a link that leads nowhere   */
    int rank;
    int64_t dims[KS_RANK_MAX];  /**< as h5py shows them                                           */
    char type[32];              /**< "float64", "int16", "uint8"                                  */
    bool narrow;                /**< a float type of at most 4 bytes                              */
    bool matlab;                /**< has an attribute MATLAB_class                                */
} ks_dataset;

/** Look at a dataset. What is there but cannot serve (a group, strings, no values, a broken link) is added to
 *  problems and gets id -1. A file that cannot be read is KS_EXIT_FILE. `file` must outlive it. */
ks_exit ks_dataset_open(ks_dataset *dataset, hid_t file_id, const char *file, const char *path,
                        ks_problems *problems, ks_failure *failure);

void ks_dataset_close(ks_dataset *dataset);

/** Product of all dimensions, -1 where it overflows. */
int64_t ks_dataset_elements(const ks_dataset *dataset);

/** Called now and then with a fraction of the work done, 0 .. 1. */
typedef void (*ks_io_progress)(void *user, double done);

/** A rectangle of series and steps. */
typedef struct ks_slab {
    int64_t series, series_count, step, step_count;
} ks_slab;

/** Walks over series and steps in slabs of some megabytes. */
typedef struct ks_slab_walk {
    int64_t series, step_begin, step_end;  /**< all of it                                         */
    int64_t series_slab, step_slab;        /**< largest slab                                      */
    int64_t next_series, next_step;
} ks_slab_walk;

/** Plan a walk. row_bytes: bytes of one step of one series. alignment: steps after which a slab
 *  should end, the chunk length of the file. whole: a slab may span series only where it holds
 *  all steps of each of them and `whole` is set. */
void ks_slab_walk_start(ks_slab_walk *walk, int64_t series, int64_t step_begin, int64_t step_end,
                        size_t row_bytes, int64_t alignment, bool whole);

/** The next slab; false when there is none left. */
bool ks_slab_walk_next(ks_slab_walk *walk, ks_slab *slab);

/** Largest number of rows (steps of one series) that a slab of the walk has. */
int64_t ks_slab_walk_rows(const ks_slab_walk *walk);

/** Steps after which a chunk of the file ends, 1 where it is not chunked along time. */
int64_t ks_dataset_chunk_steps(const ks_dataset *dataset, const ks_fit *fit);

/** Read a slab, converted by HDF5 to `type`, series after series, step after step. */
ks_exit ks_dataset_read(const ks_dataset *dataset, const ks_fit *fit, const ks_slab *slab,
                        hid_t type, void *values, ks_failure *failure);

#endif
