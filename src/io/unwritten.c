#include "unwritten.h"

#include <math.h>
#include <stdio.h>
#include "h5.h"

/* Count the chunks in the file. Older libraries only tell whether there are any. */
static bool count_chunks(hid_t dataset, hsize_t all, hsize_t *there)
{
#if H5_VERSION_GE(1, 10, 5)
    const hid_t space = H5Dget_space(dataset);
    const bool known = space >= 0 && H5Dget_num_chunks(dataset, space, there) >= 0;
    (void)all;
    ks_h5_release(space);
    return known;
#else
    *there = H5Dget_storage_size(dataset) > 0 ? all : 0;
    return true;
#endif
}

/* Count chunks, not bytes, which filters shrink. A chunk that was written in part is stored in full. */
static bool chunks(const ks_dataset *dataset, hid_t list, char *text, size_t size)
{
    hsize_t chunk[KS_RANK_MAX], there = 0, all = 1;
    if (H5Pget_chunk(list, KS_RANK_MAX, chunk) != dataset->rank) return false;
    for (int i = 0; i < dataset->rank; ++i) all *= ((hsize_t)dataset->dims[i] + chunk[i] - 1) / chunk[i];
    if (!count_chunks(dataset->id, all, &there) || there >= all) return false;
    if (there == 0) snprintf(text, size, "%.200s was never written", dataset->path);
    else
        snprintf(text, size, "%llu of %llu chunks of %.200s were never written", (unsigned long long)(all - there),
                 (unsigned long long)all, dataset->path);
    return true;
}

/* Count the entries of a virtual dataset that no source covers. Overlapping sources may hide some of them. Sources of
 * unlimited size cover whatever exists. */
static bool mappings(const ks_dataset *dataset, hid_t list, char *text, size_t size)
{
    size_t count = 0;
    int64_t left = ks_dataset_elements(dataset);
    if (H5Pget_virtual_count(list, &count) < 0) return false;
    for (size_t i = 0; i < count && left > 0; ++i) {
        const hid_t space = H5Pget_virtual_vspace(list, i);
        const hssize_t points = space < 0 ? -1 : H5Sget_select_npoints(space);
        ks_h5_release(space);
        if (points < 0) return false; /* H5S_UNLIMITED, as a signed number */
        left -= points;
    }
    if (left <= 0) return false;
    snprintf(text, size, "%lld of %lld entries of the virtual dataset %.200s have no source", (long long)left,
             (long long)ks_dataset_elements(dataset), dataset->path);
    return true;
}

bool ks_unwritten(const ks_dataset *dataset, char *text, size_t size)
{
    H5D_space_status_t status = H5D_SPACE_STATUS_ALLOCATED;
    bool found = false;
    const hid_t list = dataset->id < 0 ? -1 : H5Dget_create_plist(dataset->id);
    if (list >= 0 && ks_dataset_elements(dataset) > 0)
        switch (H5Pget_layout(list)) {
        case H5D_CHUNKED: found = chunks(dataset, list, text, size); break;
        case H5D_VIRTUAL: found = mappings(dataset, list, text, size); break;
        case H5D_CONTIGUOUS:
            found = H5Pget_external_count(list) == 0 && H5Dget_space_status(dataset->id, &status) >= 0 &&
                    status == H5D_SPACE_STATUS_NOT_ALLOCATED;
            if (found) snprintf(text, size, "%.200s was never written", dataset->path);
            break;
        default: break;
        }
    ks_h5_release(list);
    H5Eclear2(H5E_DEFAULT);
    return found;
}

void ks_unwritten_note(const ks_dataset *dataset, ks_notes *notes)
{
    char text[400];
    double fill = 0.0;
    if (!ks_unwritten(dataset, text, sizeof text)) return;
    const hid_t list = H5Dget_create_plist(dataset->id);
    if (list >= 0 && H5Pget_fill_value(list, H5T_NATIVE_DOUBLE, &fill) >= 0 && !isnan(fill))
        ks_note_add(notes, "%s: read as %g", text, fill);
    ks_h5_release(list);
    H5Eclear2(H5E_DEFAULT);
}
