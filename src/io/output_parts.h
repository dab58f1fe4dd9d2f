/* output_parts.h -- the inside of an output file; private to src/io. */
#ifndef KS_IO_OUTPUT_PARTS_H
#define KS_IO_OUTPUT_PARTS_H

#include "output_file.h"
#include "temp_file.h"

struct ks_output_file {
    ks_temp_file temp;
    hid_t file;
    int compress;
    size_t fresh;           /* bytes written since the disk was last told to write */
    int64_t lengths[KS_AXES];
    hid_t scales[KS_AXES];  /* the dimension scales, -1: none */
    hid_t t;                /* the time stamps, -1: none      */
};

/** Fail with "cannot write PATH" and HDF5's reason. */
ks_exit ks_output_fail(const ks_output_file *out, const char *path, ks_failure *failure);

/** Name the axes of an array and attach their scales. */
ks_exit ks_output_name_axes(ks_output_file *out, const ks_output_array *array, hid_t id,
                            ks_failure *failure);

static inline size_t ks_precision_bytes_of(ks_precision precision)
{
    return precision == KS_F32 ? sizeof(float) : sizeof(double);
}

#endif
