/* dataset.h -- one numeric dataset of an input file: its description, and its values by hyperslabs. */
#ifndef KS_IO_DATASET_H
#define KS_IO_DATASET_H

#include <stdbool.h>
#include <stdint.h>
#include <hdf5.h>
#include "failure.h"
#include "problems.h"
#include "shape.h"

/** Most characters of a path in a file. The name of an array and the suffix for diagonals are appended to it. */
#define KS_PATH_MOST 1000

typedef struct ks_dataset {
    hid_t id;                   /**< -1: absent or unusable     */
    const char *file;           /**< name of its file, borrowed */
    char path[KS_PATH_MOST + 16];
    bool found;                 /**< an object exists at the path, or a broken link */
    int rank;
    int64_t dims[KS_RANK_MAX];  /**< as h5py shows them              */
    char type[32];              /**< "float64", "int16", "uint8"     */
    bool narrow;                /**< a float type of at most 4 bytes */
    bool matlab;                /**< has an attribute MATLAB_class   */
} ks_dataset;

/** Open a dataset and describe it. An object that cannot be used (a group, strings, no values, a broken link) is added
 *  to problems and gets id -1. Returns KS_EXIT_FILE if the file cannot be read. `file` must outlive the dataset. */
ks_exit ks_dataset_open(ks_dataset *dataset, hid_t file_id, const char *file, const char *path,
                        ks_problems *problems, ks_failure *failure);

void ks_dataset_close(ks_dataset *dataset);

/** Return the product of all dimensions, or -1 if it overflows. */
int64_t ks_dataset_elements(const ks_dataset *dataset);

/** Called from time to time with the fraction of the work done, 0 .. 1. */
typedef void (*ks_io_progress)(void *user, double done);

/** A rectangle of series and steps. */
typedef struct ks_slab {
    int64_t series, series_count, step, step_count;
} ks_slab;

/** A walk over series and steps in slabs of some megabytes. */
typedef struct ks_slab_walk {
    int64_t series, step_begin, step_end;  /**< the whole range */
    int64_t series_slab, step_slab;        /**< largest slab    */
    int64_t next_series, next_step;
} ks_slab_walk;

/** Plan a walk. row_bytes: bytes of one step of one series. alignment: the chunk length of the file; slabs end at
 *  multiples of it. A slab spans several series only if `whole` is set and it holds all steps of each of them. */
void ks_slab_walk_start(ks_slab_walk *walk, int64_t series, int64_t step_begin, int64_t step_end,
                        size_t row_bytes, int64_t alignment, bool whole);

/** Return the next slab; false if there is none left. */
bool ks_slab_walk_next(ks_slab_walk *walk, ks_slab *slab);

/** Return the largest number of rows (steps of one series) in a slab of the walk. */
int64_t ks_slab_walk_rows(const ks_slab_walk *walk);

/** Return the number of steps in a chunk of the file, 1 if it is not chunked along time. */
int64_t ks_dataset_chunk_steps(const ks_dataset *dataset, const ks_fit *fit);

/** Read a slab in the order of series, then steps. HDF5 converts the values to `type`. */
ks_exit ks_dataset_read(const ks_dataset *dataset, const ks_fit *fit, const ks_slab *slab,
                        hid_t type, void *values, ks_failure *failure);

#endif
