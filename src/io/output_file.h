/* output_file.h -- writing an HDF5 file that appears when it is whole: arrays chunked along time
 * with named axes, and attributes. Serves results and generated inputs. */
#ifndef KS_IO_OUTPUT_FILE_H
#define KS_IO_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <hdf5.h>
#include "kalscan/smooth.h"
#include "dataset.h"
#include "failure.h"

/** Named axes of arrays. */
typedef enum ks_axis {
    KS_AXIS_SERIES, KS_AXIS_TIME, KS_AXIS_STATE, KS_AXIS_STATE_2, KS_AXIS_OBS, KS_AXIS_OBS_2,
    KS_AXIS_BLOCK, KS_AXIS_COUPLING, KS_AXIS_ROW, KS_AXIS_ROW_2, KS_AXIS_RHS, KS_AXES
} ks_axis;
#define KS_AXES_MAX 4

typedef struct ks_output_file ks_output_file;

/** Begin a file at `path`; compress 0 .. 9 is the deflate level (with shuffle), 0: none. On
 *  success *out is the caller's: end it with ks_output_commit() or ks_output_discard(). */
ks_exit ks_output_create(ks_output_file **out, const char *path, bool replace, int compress,
                         ks_failure *failure);

/** State the length of an axis, and make the dimension scale of this name with its indices. */
ks_exit ks_output_axis(ks_output_file *out, ks_axis axis, int64_t length, ks_failure *failure);

/** Make the time stamps /t, with the attributes of the dataset they were read from (or NULL), and
 *  the time axis with the same values. */
ks_exit ks_output_time(ks_output_file *out, int64_t length, const double *t,
                       const ks_dataset *origin, ks_failure *failure);

/** What an array is. */
typedef struct ks_output_array {
    const char *path;          /**< "smoothed/mean"; groups on the way are made                  */
    const char *long_name;     /**< NULL: none                                                   */
    ks_precision precision;
    bool whole;                /**< int64_t in memory and in the file, whatever the precision    */
    int rank;                  /**< 0: one number                                                */
    int64_t dims[KS_AXES_MAX];
    int step_axis;             /**< -1: none; an axis before it is that of series                */
    bool named;                /**< its axes have names ...                                      */
    ks_axis axes[KS_AXES_MAX]; /**< ... these, stated before                                     */
} ks_output_array;

/** Bytes of its values, before compression; SIZE_MAX where a size_t is too narrow. */
size_t ks_output_array_bytes(const ks_output_array *array);

/** Bytes that they take in a file that is not compressed, whole chunks; SIZE_MAX likewise. */
size_t ks_output_disk_bytes(const ks_output_array *array);

/** Make an array without values; *id is given back with ks_h5_release() or by closing the array. */
ks_exit ks_output_begin(ks_output_file *out, const ks_output_array *array, hid_t *id,
                        ks_failure *failure);

/** Write a slab of it. */
ks_exit ks_output_slab(ks_output_file *out, const ks_output_array *array, hid_t id,
                       const ks_slab *slab, const void *values, ks_failure *failure);

/** No more values come: close it. */
ks_exit ks_output_end(ks_output_file *out, const ks_output_array *array, hid_t id,
                      ks_failure *failure);

/** Called now and then with the bytes written. */
typedef void (*ks_output_progress)(void *user, double bytes);

/** Make an array and write all its values, in slabs. */
ks_exit ks_output_write(ks_output_file *out, const ks_output_array *array, const void *values,
                        ks_output_progress progress, void *user, ks_failure *failure);

/** Attributes of the object at `path` ("/": the file). */
ks_exit ks_output_text(ks_output_file *out, const char *path, const char *name, const char *value,
                       ks_failure *failure);
ks_exit ks_output_integer(ks_output_file *out, const char *path, const char *name, int64_t value,
                          ks_failure *failure);
ks_exit ks_output_number(ks_output_file *out, const char *path, const char *name, double value,
                         ks_failure *failure);

/** Close the file and give it its name; on failure nothing is left. Frees `out` in any case. */
ks_exit ks_output_commit(ks_output_file *out, ks_failure *failure);

/** Give up and remove what was written. NULL is allowed. */
void ks_output_discard(ks_output_file *out);

#endif
