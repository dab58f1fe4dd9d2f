/* output_file.h -- writing an HDF5 file that appears under its name when it is complete: arrays chunked along time,
 * with named axes and attributes. Used for results and for generated inputs. */
#ifndef KS_IO_OUTPUT_FILE_H
#define KS_IO_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <hdf5.h>
#include "kalscan/smooth.h"
#include "dataset.h"
#include "failure.h"

/** The named axes of arrays. */
typedef enum ks_axis {
    KS_AXIS_SERIES, KS_AXIS_TIME, KS_AXIS_STATE, KS_AXIS_STATE_2, KS_AXIS_OBS, KS_AXIS_OBS_2,
    KS_AXIS_BLOCK, KS_AXIS_COUPLING, KS_AXIS_ROW, KS_AXIS_ROW_2, KS_AXIS_RHS, KS_AXES
} ks_axis;
#define KS_AXES_MAX 4

typedef struct ks_output_file ks_output_file;

/** Begin a file at `path`. compress 0 .. 9 is the deflate level (with shuffle), 0: none. On success the caller owns
 *  *out and ends it with ks_output_commit() or ks_output_discard(). */
ks_exit ks_output_create(ks_output_file **out, const char *path, bool replace, int compress,
                         ks_failure *failure);

/** Set the length of an axis, and make the dimension scale of this name with its indices. */
ks_exit ks_output_axis(ks_output_file *out, ks_axis axis, int64_t length, ks_failure *failure);

/** Make the time stamps /t, with the attributes of the dataset `origin` that they were read from (or NULL), and the
 *  time axis with the same values. */
ks_exit ks_output_time(ks_output_file *out, int64_t length, const double *t,
                       const ks_dataset *origin, ks_failure *failure);

/** Description of an array. */
typedef struct ks_output_array {
    const char *path;          /**< such as "smoothed/mean"; parent groups are created */
    const char *long_name;     /**< NULL: none                                         */
    ks_precision precision;
    bool whole;                /**< int64_t in memory and in the file, in every precision */
    int rank;                  /**< 0: one number                                         */
    int64_t dims[KS_AXES_MAX];
    int step_axis;             /**< -1: none; an axis before it is that of the series */
    bool named;                /**< the axes have names:                              */
    ks_axis axes[KS_AXES_MAX]; /**< these, set by ks_output_axis() before             */
} ks_output_array;

/** Return the bytes of the values, before compression; SIZE_MAX if size_t overflows. */
size_t ks_output_array_bytes(const ks_output_array *array);

/** Return the bytes of the array in a file without compression, in whole chunks; SIZE_MAX if size_t overflows. */
size_t ks_output_disk_bytes(const ks_output_array *array);

/** Create an array without values. Release *id with ks_output_end() or ks_h5_release(). */
ks_exit ks_output_begin(ks_output_file *out, const ks_output_array *array, hid_t *id,
                        ks_failure *failure);

/** Write a slab of an array. */
ks_exit ks_output_slab(ks_output_file *out, const ks_output_array *array, hid_t id,
                       const ks_slab *slab, const void *values, ks_failure *failure);

/** Close an array: no more values follow. */
ks_exit ks_output_end(ks_output_file *out, const ks_output_array *array, hid_t id,
                      ks_failure *failure);

/** Called from time to time with the bytes written. */
typedef void (*ks_output_progress)(void *user, double bytes);

/** Create an array and write all its values, in slabs. */
ks_exit ks_output_write(ks_output_file *out, const ks_output_array *array, const void *values,
                        ks_output_progress progress, void *user, ks_failure *failure);

/** Write an attribute of the object at `path` ("/": the file). */
ks_exit ks_output_text(ks_output_file *out, const char *path, const char *name, const char *value,
                       ks_failure *failure);
ks_exit ks_output_integer(ks_output_file *out, const char *path, const char *name, int64_t value,
                          ks_failure *failure);
ks_exit ks_output_number(ks_output_file *out, const char *path, const char *name, double value,
                         ks_failure *failure);

/** Close the file and give it its name. On failure no file remains. Frees `out` in both cases. */
ks_exit ks_output_commit(ks_output_file *out, ks_failure *failure);

/** Give up and remove the file. NULL is allowed. */
void ks_output_discard(ks_output_file *out);

#endif
