#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <hdf5.h>
#include "make_file.h"

enum { most_axes = 5, most_values = 4096 };

/* Instead of a number of columns: zeros everywhere; ones in the middle one of three rows. */
static const hsize_t no_diagonal = (hsize_t)-1, middle_row = (hsize_t)-2;

/* The sizes that the datasets of one file agree on, unless a decision breaks the agreement. */
typedef struct sizes {
    hsize_t T, B, nx, ny;
    int batched;
} sizes;

typedef struct shape {
    int rank;
    hsize_t dims[most_axes];
} shape;

static hsize_t volume(const shape *s)
{
    hsize_t product = 1;
    for (int i = 0; i < s->rank; ++i) {
        if (s->dims[i] > most_values) return most_values + 1;
        product *= s->dims[i];
        if (product > most_values) return most_values + 1;
    }
    return product;
}

/* A shape that fits: the block, perhaps per step, perhaps per series. Rarely one that does not. */
static shape choose_shape(decisions *d, const sizes *n, hsize_t rows, hsize_t columns, int steps)
{
    shape s = {0, {0}};
    unsigned axes = take(d, 4);
    if (axes == 3) s.dims[s.rank++] = take(d, 2) ? 1 : n->B;
    if (axes >= 2 && steps) s.dims[s.rank++] = take(d, 4) == 3 ? n->T - 1 : n->T;
    s.dims[s.rank++] = rows;
    if (columns) s.dims[s.rank++] = columns;
    if (take_rarely(d, 12)) s.rank = (int)take(d, most_axes + 1);
    for (int i = 0; i < s.rank; ++i) {
        if (!take_rarely(d, 6)) continue;
        const hsize_t wild[] = {0, 1, 2, 7, 65536, (hsize_t)1 << 31, (hsize_t)1 << 40,
                                ((hsize_t)1 << 62) + 1};
        s.dims[i] = wild[take(d, 8)];
    }
    return s;
}

/* Owned by the caller. Mostly double; some that no reader can take. */
static hid_t choose_type(decisions *d)
{
    hid_t type;
    if (!take_rarely(d, 60)) return H5Tcopy(H5T_IEEE_F64LE);
    switch (take(d, 14)) {
    case 0: return H5Tcopy(H5T_IEEE_F32LE);
    case 1: return H5Tcopy(H5T_IEEE_F64BE);
    case 2: return H5Tcopy(H5T_IEEE_F32BE);
    case 3: return H5Tcopy(H5T_STD_I8LE);
    case 4: return H5Tcopy(H5T_STD_U16BE);
    case 5: return H5Tcopy(H5T_STD_I64LE);
    case 6: return H5Tcopy(H5T_STD_U64LE);
    case 7: return H5Tcopy(H5T_NATIVE_LDOUBLE);
    case 8: return H5Tcopy(H5T_C_S1);
    case 9:
        type = H5Tcopy(H5T_C_S1);
        H5Tset_size(type, H5T_VARIABLE);
        return type;
    case 10: return H5Tvlen_create(H5T_IEEE_F64LE);
    case 11: return H5Tenum_create(H5T_STD_I8LE);
    case 12: return H5Tcreate(H5T_OPAQUE, 3);
    default:
        type = H5Tcreate(H5T_COMPOUND, 16);
        H5Tinsert(type, "re", 0, H5T_NATIVE_DOUBLE);
        H5Tinsert(type, "im", 8, H5T_NATIVE_DOUBLE);
        return type;
    }
}

/* A value of a matrix that is the identity when nothing is decided. */
static double choose_value(decisions *d, int on_diagonal)
{
    const double infinity = (double)INFINITY;
    const double odd[] = {(double)NAN, infinity, -infinity, DBL_MAX, -DBL_MAX, DBL_MIN, 5e-324,
                          1e300, -1.0, 1e-300, 0.0, 1e-9, 1.0 + 1e-9, 3e38, 1e40, -0.0};
    if (take_rarely(d, 4)) return odd[take(d, 16)];
    const double plain = on_diagonal ? 1.0 : 0.0;
    return take_rarely(d, 40) ? plain + ((double)take_byte(d) - 128.0) / 1024.0 : plain;
}

static hid_t choose_storage(decisions *d, const shape *s, hid_t type)
{
    hid_t storage = H5Pcreate(H5P_DATASET_CREATE);
    if (s->rank > 0 && take_rarely(d, 60)) {
        hsize_t chunk[most_axes];
        for (int i = 0; i < s->rank; ++i) chunk[i] = 1 + take(d, 5);
        H5Pset_chunk(storage, s->rank, chunk);
        if (take(d, 2)) H5Pset_deflate(storage, 1);
        if (take(d, 2)) H5Pset_fletcher32(storage);
    }
    if (take_rarely(d, 20) && H5Tget_class(type) == H5T_FLOAT) {
        const double fill = choose_value(d, 1);
        H5Pset_fill_value(storage, H5T_NATIVE_DOUBLE, &fill);
    }
    return storage;
}

static void number_attribute(hid_t object, const char *name, decisions *d)
{
    hsize_t count = 1 + take(d, 2) * take(d, 3);
    const double values[3] = {choose_value(d, 1), choose_value(d, 0), 0.0};
    hid_t space = take(d, 2) ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &count, NULL);
    hid_t type = choose_type(d);
    hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute >= 0) {
        H5Awrite(attribute, H5T_NATIVE_DOUBLE, values);
        H5Aclose(attribute);
    }
    H5Tclose(type);
    H5Sclose(space);
}

static void text_attribute(hid_t object, const char *name, const char *text, decisions *d)
{
    if (take_rarely(d, 20)) {
        number_attribute(object, name, d);
        return;
    }
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    const int variable = (int)take(d, 2);
    H5Tset_size(type, variable ? H5T_VARIABLE : strlen(text) + take(d, 2));
    hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute >= 0) {
        if (variable) H5Awrite(attribute, type, &text);
        else H5Awrite(attribute, type, text);
        H5Aclose(attribute);
    }
    H5Sclose(space);
    H5Tclose(type);
}

static int write_values(hid_t dataset, const shape *s, hsize_t columns, decisions *d)
{
    const hsize_t count = volume(s);
    if (count > most_values) return 0;  /* too large to write: it keeps its fill value */
    double *values = malloc((size_t)(count ? count : 1) * sizeof *values);
    if (!values) return -1;
    for (hsize_t i = 0; i < count; ++i) {
        hsize_t row = columns ? i / columns % columns : 0, column = columns ? i % columns : 0;
        if (columns == middle_row && s->rank > 0) {
            row = i / s->dims[s->rank - 1] % 3;
            column = 1;
        }
        values[i] = choose_value(d, columns != no_diagonal && row == column);
    }
    H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    free(values);
    return 0;
}

/* One dataset with an identity, or whatever the decisions make of it. columns 0: a vector of ones;
 * no_diagonal: zeros; middle_row: the diagonals of an identity. */
static int put(hid_t file, const char *path, const shape *s, hsize_t columns, decisions *d)
{
    if (take_rarely(d, 4)) {  /* something that is no dataset */
        hid_t group = H5Gcreate2(file, path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        if (group >= 0) H5Gclose(group);
        return 0;
    }
    if (take_rarely(d, 4)) {  /* a link that leads nowhere, or in a circle */
        H5Lcreate_soft(take(d, 2) ? path : "/nowhere", file, path, H5P_DEFAULT, H5P_DEFAULT);
        return 0;
    }
    hid_t space = take_rarely(d, 4) ? H5Screate(H5S_NULL)
                  : s->rank         ? H5Screate_simple(s->rank, s->dims, NULL)
                                    : H5Screate(H5S_SCALAR);
    hid_t type = choose_type(d), storage = choose_storage(d, s, type);
    hid_t dataset = space < 0 ? -1
                              : H5Dcreate2(file, path, type, space, H5P_DEFAULT, storage,
                                           H5P_DEFAULT);
    int status = 0;
    if (dataset >= 0) {
        status = write_values(dataset, s, columns, d);
        if (take_rarely(d, 20)) number_attribute(dataset, "_FillValue", d);
        if (take_rarely(d, 20)) number_attribute(dataset, "scale_factor", d);
        if (take_rarely(d, 20)) number_attribute(dataset, "add_offset", d);
        if (take_rarely(d, 10)) text_attribute(dataset, "MATLAB_class", "double", d);
        H5Dclose(dataset);
    }
    H5Pclose(storage);
    H5Tclose(type);
    if (space >= 0) H5Sclose(space);
    return status;
}

/* A matrix or its diagonal; rarely both, rarely neither. */
static int put_covariance(hid_t file, const char *path, const char *diagonal, const sizes *n,
                          hsize_t size, int steps, decisions *d)
{
    const unsigned form = take_rarely(d, 6) ? 2 + take(d, 2) : take(d, 2);
    int status = 0;
    if (form == 0 || form == 2) {
        shape s = choose_shape(d, n, size, size, steps);
        status |= put(file, path, &s, size, d);
    }
    if (form == 1 || form == 2) {
        shape s = choose_shape(d, n, size, 0, steps);
        status |= put(file, diagonal, &s, 0, d);
    }
    return status;
}

static int put_model(hid_t file, const sizes *n, decisions *d)
{
    const struct {
        const char *path;
        hsize_t rows, columns;
        int steps, optional;
    } arrays[] = {
        {"/model/F", n->nx, n->nx, 1, 0}, {"/model/H", n->ny, n->nx, 1, 0},
        {"/model/m0", n->nx, 0, 0, 0},    {"/model/u", n->nx, 0, 1, 1},
        {"/model/d", n->ny, 0, 1, 1},
    };
    int status = 0;
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; ++i) {
        if (take_rarely(d, arrays[i].optional ? 128 : 3)) continue;
        shape s = choose_shape(d, n, arrays[i].rows, arrays[i].columns, arrays[i].steps);
        status |= put(file, arrays[i].path, &s, arrays[i].columns, d);
    }
    status |= put_covariance(file, "/model/Q", "/model/Q_diag", n, n->nx, 1, d);
    status |= put_covariance(file, "/model/R", "/model/R_diag", n, n->ny, 1, d);
    status |= put_covariance(file, "/model/P0", "/model/P0_diag", n, n->nx, 0, d);
    if (take_rarely(d, 40)) status |= put_covariance(file, "/model/P0_inf", "/model/P0_inf_diag", n, n->nx, 0, d);
    return status;
}

static void put_conventions(hid_t group, decisions *d)
{
    static const struct {
        const char *name, *values[4];
    } attributes[] = {{"prior", {"x1", "x0", "x2", ""}},
                      {"transition", {"out-of", "into", "Into", "\xff"}},
                      {"layout", {"fortran", "c", "C", "a text that is longer than any of these"}}};
    for (int i = 0; i < 3; ++i) {
        if (take(d, 3) != 2) continue;
        const unsigned value = take_rarely(d, 20) ? 2 + take(d, 2) : take(d, 2);
        text_attribute(group, attributes[i].name, attributes[i].values[value], d);
    }
}

int make_file(const char *name, decisions *d)
{
    sizes n;
    n.batched = take_rarely(d, 60);
    n.T = 1 + take(d, 9);
    n.B = 1 + take(d, 3);
    n.nx = 1 + take(d, 4);
    n.ny = 1 + take(d, 3);
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (file < 0) return -1;
    int status = 0;
    hid_t group = H5Gcreate2(file, "/model", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (group >= 0) {
        put_conventions(group, d);
        H5Gclose(group);
        status |= put_model(file, &n, d);
    }
    shape y = {0, {0}};
    if (n.batched) y.dims[y.rank++] = n.B;
    y.dims[y.rank++] = n.T;
    if (n.batched || n.ny > 1 || take(d, 2)) y.dims[y.rank++] = n.ny;
    if (take_rarely(d, 12)) y = choose_shape(d, &n, n.ny, 0, 1);
    if (!take_rarely(d, 3)) status |= put(file, "/y", &y, 0, d);
    if (take(d, 3) == 2) {
        shape t = {1, {n.T}};
        if (take_rarely(d, 20)) t = choose_shape(d, &n, n.T, 0, 1);
        status |= put(file, "/t", &t, 0, d);
    }
    if (H5Fclose(file) < 0) status = -1;
    return status;
}

/* Indices below a limit, mostly, in any order and as often as they come; limit 0: small values. */
static int put_list(hid_t group, const char *name, hsize_t count, hsize_t limit, decisions *d)
{
    const double wild[] = {-1.0, (double)limit, 0.5, 1e300, -0.0, (double)NAN, 9.3e18, 1.9e19};
    shape s = {1, {count}};
    if (take_rarely(d, 6)) return 0;
    if (take_rarely(d, 8)) s.dims[0] = count + 1 - 2 * take(d, 2) * (count > 0);
    if (take_rarely(d, 4)) s.dims[s.rank++] = take(d, 3);
    if (take_rarely(d, 4)) s.rank = 0;
    double values[32] = {0.0};
    for (hsize_t i = 0; i < count && i < 32; ++i)
        values[i] = take_rarely(d, 3) ? wild[take(d, 8)]
                    : limit > 0       ? (double)take(d, (unsigned)limit)
                                      : ((double)take_byte(d) - 128.0) / 1024.0;
    hid_t type = choose_type(d), storage = choose_storage(d, &s, type);
    hid_t space = s.rank ? H5Screate_simple(s.rank, s.dims, NULL) : H5Screate(H5S_SCALAR);
    hid_t dataset =
        space < 0 ? -1 : H5Dcreate2(group, name, type, space, H5P_DEFAULT, storage, H5P_DEFAULT);
    if (dataset >= 0) {
        if (volume(&s) <= 32)
            H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
        H5Dclose(dataset);
    }
    H5Pclose(storage);
    H5Tclose(type);
    if (space >= 0) H5Sclose(space);
    return 0;
}

/* Blocks beside the diagonal as a group of triples. */
static int put_triples(hid_t file, const char *path, const sizes *n, decisions *d)
{
    const hsize_t count = take(d, 9), blocks = n->T > 1 ? n->T - 1 : 1;
    const hid_t group = H5Gcreate2(file, path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (group < 0) return -1;
    int status = put_list(group, "block", count, blocks, d);
    status |= put_list(group, "row", count, n->nx, d);
    status |= put_list(group, "col", count, n->nx, d);
    status |= put_list(group, "value", count, 0, d);
    H5Gclose(group);
    return status;
}

/* The compact form: diagonals, and triples on one side or both; the parts that it replaces may
 * stand beside it. */
static int put_compact(hid_t file, const sizes *n, int fortran, decisions *d)
{
    int status = 0;
    shape D = {3, {n->T, fortran ? n->nx : 3, fortran ? 3 : n->nx}};
    if (take_rarely(d, 10)) D = choose_shape(d, n, 3, n->nx, 1);
    if (!take_rarely(d, 20))
        status |= put(file, "/D_dia", &D, fortran ? no_diagonal : middle_row, d);
    if (!take_rarely(d, 20)) status |= put_triples(file, "/L", n, d);
    if (!take_rarely(d, 60)) status |= put_triples(file, "/U", n, d);
    return status;
}

int make_system(const char *name, decisions *d)
{
    const sizes n = {1 + take(d, 6), 1, 1 + take(d, 4), 1 + take(d, 3), 0};
    const hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (file < 0) return -1;
    int status = 0, fortran = 0;
    if (take(d, 3) == 2) {
        static const char *const layouts[] = {"fortran", "c", "C", ""};
        const unsigned layout = take_rarely(d, 20) ? 2 + take(d, 2) : take(d, 2);
        fortran = layout == 0;
        text_attribute(file, "layout", layouts[layout], d);
    }
    const struct {
        const char *path;
        shape s;
        hsize_t columns;
    } arrays[] = {
        {"/D", {3, {n.T, n.nx, n.nx}}, n.nx},
        {"/L", {3, {n.T - 1, n.nx, n.nx}}, no_diagonal},
        {"/U", {3, {n.T - 1, n.nx, n.nx}}, no_diagonal},
        {"/b", {2, {n.T, n.nx}}, 0},
        {"/b", {3, {n.T, fortran ? n.ny : n.nx, fortran ? n.nx : n.ny}}, 0},
    };
    const unsigned which_b = 3 + take(d, 2);
    const int compact = take(d, 2) == 1;
    if (compact) status |= put_compact(file, &n, fortran, d);
    for (unsigned i = 0; i < 5; ++i) {
        shape s = arrays[i].s;
        if (compact && i < 3 && !take_rarely(d, 10)) continue;
        if (i == 2 ? !take_rarely(d, 20) : (i >= 3 && i != which_b) || take_rarely(d, 3)) continue;
        if (take_rarely(d, 10)) s = choose_shape(d, &n, n.nx, i < 3 ? n.nx : 0, 1);
        if (take_rarely(d, 10) && s.rank > 1) {  /* MATLAB drops a last axis of length 1 */
            for (int axis = 1; axis < s.rank; ++axis) s.dims[axis - 1] = s.dims[axis];
            --s.rank;
        }
        status |= put(file, arrays[i].path, &s, arrays[i].columns, d);
    }
    if (H5Fclose(file) < 0) status = -1;
    return status;
}
