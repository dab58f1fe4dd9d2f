#include "file_kind.h"

#include "h5.h"

ks_file_kind ks_file_kind_of(hid_t file)
{
    if (ks_h5_exists(file, "/model") || ks_h5_exists(file, "/y")) return KS_FILE_MODEL;
    if (ks_h5_exists(file, "/smoothed") || ks_h5_exists(file, "/filtered") ||
        (ks_h5_exists(file, "/x") && !ks_h5_exists(file, "/D")))
        return KS_FILE_OUTPUT;
    if (ks_h5_exists(file, "/D") || ks_h5_exists(file, "/D_dia") || ks_h5_exists(file, "/L") ||
        ks_h5_exists(file, "/b"))
        return KS_FILE_SYSTEM;
    return KS_FILE_OTHER;
}

const char *ks_file_kind_hint(hid_t file, ks_file_kind looked_for)
{
    const ks_file_kind kind = ks_file_kind_of(file);
    if (kind == looked_for) return "";
    switch (kind) {
    case KS_FILE_MODEL: return "the file is an input of kalscan smooth and filter";
    case KS_FILE_SYSTEM: return "the file is an input of kalscan solve, a block-tridiagonal system";
    case KS_FILE_OUTPUT: return "the file is an output of kalscan";
    case KS_FILE_OTHER: break;
    }
    return "";
}
