/* Objects that look like part of the model or the system and are not read: a misspelled name, or the right name in the
 * wrong place, would change the estimates without notice. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "h5.h"
#include "model_parts.h"
#include "system_file.h"

/* Names that are not read, as one text. */
typedef struct name_list {
    const char *const *known;
    int count;
    char text[256];
} name_list;

static bool is_known(const name_list *list, const char *name)
{
    for (const char *const *known = list->known; *known; ++known)
        if (strcmp(name, *known) == 0) return true;
    return false;
}

static void add_name(name_list *list, const char *name)
{
    const size_t used = strlen(list->text);
    snprintf(list->text + used, sizeof list->text - used, "%s%.60s", list->count ? ", " : "", name);
    ++list->count;
}

/* The members of the group that are not read. */
typedef struct member_lists {
    name_list arrays, conventions;
} member_lists;

/* Dimension scales and lists of names, which netCDF stores beside its variables, are not arrays. */
static bool is_label(hid_t group, const char *name)
{
    if (H5Aexists_by_name(group, name, "CLASS", H5P_DEFAULT) > 0) return true;
    if (!ks_h5_exists(group, name) || ks_h5_object_type(group, name) != H5O_TYPE_DATASET) return false;
    const hid_t dataset = H5Dopen2(group, name, H5P_DEFAULT);
    const hid_t type = dataset < 0 ? -1 : H5Dget_type(dataset);
    const bool text = type >= 0 && H5Tget_class(type) == H5T_STRING;
    ks_h5_release(type);
    ks_h5_release(dataset);
    return text;
}

static herr_t unread_member(hid_t group, const char *name, const H5L_info_t *info, void *user)
{
    member_lists *lists = user;
    (void)info;
    if (is_known(&lists->conventions, name)) add_name(&lists->conventions, name);
    else if (!is_known(&lists->arrays, name) && !is_label(group, name)) add_name(&lists->arrays, name);
    return 0;
}

/* Add a name that differs from a known one only in case. */
static void add_in_other_letters(name_list *list, const char *name)
{
    for (const char *const *known = list->known; *known; ++known)
        if (strcasecmp(name, *known) == 0 && !is_known(list, name)) add_name(list, name);
}

static herr_t unread_attribute(hid_t object, const char *name, const H5A_info_t *info, void *user)
{
    (void)object;
    (void)info;
    add_in_other_letters(user, name);
    return 0;
}

static herr_t member_in_other_letters(hid_t group, const char *name, const H5L_info_t *info, void *user)
{
    (void)group;
    (void)info;
    add_in_other_letters(user, name);
    return 0;
}

static const char *const arrays[] = {"F", "Q", "u", "H", "R", "d", "m0", "P0", "P0_inf",
                                     "Q_diag", "R_diag", "P0_diag", "P0_inf_diag", NULL};
static const char *const conventions[] = {"prior", "transition", "layout", NULL};

/* The conventions are attributes of the group; users also write them to the root. */
static void note_root(ks_input *input, hid_t group, const char *path)
{
    for (const char *const *name = conventions; *name; ++name)
        if (H5Aexists_by_name(input->model_file, "/", *name, H5P_DEFAULT) > 0 &&
            H5Aexists(group, *name) <= 0)
            ks_note_add(&input->notes, "attribute %s of the root is not read: it belongs to %.200s", *name,
                        path);
}

void ks_model_note_unread(ks_input *input, hid_t group)
{
    const char *path = input->places.model;
    member_lists members = {{.known = arrays}, {.known = conventions}};
    name_list attributes = {.known = conventions};
    hsize_t position = 0;
    H5Aiterate2(group, H5_INDEX_NAME, H5_ITER_INC, &position, unread_attribute, &attributes);
    if (attributes.count > 0)
        ks_note_add(&input->notes, "%.100s has the attribute%s %s, which %s not read; names are prior, "
                    "transition, layout", path, attributes.count > 1 ? "s" : "", attributes.text,
                    attributes.count > 1 ? "are" : "is");
    if (strspn(path, "/") == strlen(path)) return;
    H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, unread_member, &members);
    if (members.arrays.count > 0)
        ks_note_add(&input->notes, "%.100s holds %s, which %s not read; the arrays of a model are F, Q, u, H, "
                    "R, d, m0, P0, P0_inf, Q_diag, R_diag, P0_diag, P0_inf_diag", path, members.arrays.text,
                    members.arrays.count > 1 ? "are" : "is");
    if (members.conventions.count > 0)
        ks_note_add(&input->notes, "%.100s holds %s, which %s not read: conventions are attributes of the group",
                    path, members.conventions.text, members.conventions.count > 1 ? "are" : "is");
    note_root(input, group, path);
    H5Eclear2(H5E_DEFAULT);
}

void ks_system_note_unread(ks_system *system)
{
    static const char *const parts[] = {"D", "L", "U", "b", "D_dia", NULL};
    static const char *const layout[] = {"layout", NULL};
    name_list members = {.known = parts}, attributes = {.known = layout};
    hsize_t position = 0;
    H5Literate(system->file, H5_INDEX_NAME, H5_ITER_INC, NULL, member_in_other_letters, &members);
    H5Aiterate2(system->file, H5_INDEX_NAME, H5_ITER_INC, &position, unread_attribute, &attributes);
    if (members.count > 0)
        ks_note_add(&system->notes, "the file holds %s, which %s not read; the arrays of a system are D, L, U, b, "
                    "D_dia", members.text, members.count > 1 ? "are" : "is");
    if (attributes.count > 0)
        ks_note_add(&system->notes, "the file has the attribute %s, which is not read; its name is layout",
                    attributes.text);
    H5Eclear2(H5E_DEFAULT);
}

/* Attributes that readers of netCDF apply, and that would change the numbers. */
static const char *const meanings[] = {"missing_value", "_Unsigned", NULL};

void ks_observations_note_unread(ks_input *input)
{
    const ks_dataset *y = &input->y_dataset;
    name_list found = {.known = meanings};
    const bool told = H5Aexists(y->id, "_FillValue") > 0;
    for (const char *const *name = meanings; *name; ++name)
        if (H5Aexists(y->id, *name) > 0 && !(told && name == meanings)) add_name(&found, *name);
    if (found.count > 0)
        ks_note_add(&input->notes, "%.200s has the attribute%s %s, which %s not read: numbers are taken as they "
                    "are stored, missing entries are NaN, or the value of the attribute _FillValue", y->path,
                    found.count > 1 ? "s" : "", found.text, found.count > 1 ? "are" : "is");
}
