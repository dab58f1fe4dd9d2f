/* Explaining an output of kalscan: its attributes and arrays. */
#include "info.h"

#include <stdio.h>
#include <string.h>
#include "dataset.h"
#include "h5.h"
#include "json.h"

typedef struct walk {
    const char *file;
    ks_json json;
    bool as_json;
    ks_problems problems;  /* of arrays that are not shown */
} walk;

enum { TEXT = 4096 };

/* Print a text, its lines below each other. */
static void show_lines(const char *name, const char *text)
{
    do {
        char line[TEXT];
        const size_t length = strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, text);
        ks_text_escape(line, sizeof line);
        printf("  %-18s %s\n", name, line);
        name = "";
        text += length + (text[length] == '\n');
    } while (*text);
}

static herr_t show_attribute(hid_t root, const char *name, const H5A_info_t *info, void *user)
{
    walk *state = user;
    char text[TEXT], shown[256];
    double number;
    (void)info;
    snprintf(shown, sizeof shown, "%s", name);
    ks_text_escape(shown, sizeof shown);
    if (ks_h5_read_string(root, name, text, sizeof text) == KS_ATTRIBUTE_READ) {
        if (state->as_json) ks_json_text(&state->json, name, text);
        else show_lines(shown, text);
    } else if (ks_h5_read_number(root, name, &number) == KS_ATTRIBUTE_READ) {
        if (state->as_json) ks_json_number(&state->json, name, number);
        else printf("  %-18s %g\n", shown, number);
    }
    return 0;
}

static void show_dataset(walk *state, const ks_dataset *dataset)
{
    char shape[256], long_name[256], path[sizeof dataset->path];
    ks_shape_text(dataset->dims, dataset->rank, shape, sizeof shape);
    ks_h5_read_string(dataset->id, "long_name", long_name, sizeof long_name);
    if (!state->as_json) {
        snprintf(path, sizeof path, "%s", dataset->path);
        ks_text_escape(path, sizeof path);
        ks_text_escape(long_name, sizeof long_name);
        printf("  %-24s %-20s %-8s %s\n", path, shape, dataset->type, long_name);
        return;
    }
    ks_json_open(&state->json, NULL, '{');
    ks_json_text(&state->json, "path", dataset->path);
    ks_json_open(&state->json, "shape", '[');
    for (int i = 0; i < dataset->rank; ++i) ks_json_integer(&state->json, NULL, dataset->dims[i]);
    ks_json_close(&state->json, ']');
    ks_json_text(&state->json, "type", dataset->type);
    ks_json_text(&state->json, "long_name", long_name);
    ks_json_close(&state->json, '}');
}

static herr_t show_object(hid_t root, const char *name, const H5O_info_t *info, void *user)
{
    walk *state = user;
    ks_failure failure = {0};
    ks_dataset dataset;
    char path[512];
    if (info->type != H5O_TYPE_DATASET) return 0;
    snprintf(path, sizeof path, "/%.500s", name);
    if (ks_dataset_open(&dataset, root, state->file, path, &state->problems, &failure) ==
            KS_EXIT_DONE &&
        dataset.id >= 0)
        show_dataset(state, &dataset);
    ks_dataset_close(&dataset);
    return 0;
}

/* Print a scalar that describes the whole result. */
static void show_number(walk *state, hid_t file, const char *name, const char *words)
{
    double value;
    char path[32];
    ks_failure failure = {0};
    ks_dataset dataset;
    const ks_fit whole = {.series_axis = -1, .step_axis = -1};
    const ks_slab all = {0};
    snprintf(path, sizeof path, "/%s", name);
    if (ks_dataset_open(&dataset, file, state->file, path, &state->problems, &failure) ==
            KS_EXIT_DONE &&
        dataset.id >= 0 && ks_dataset_elements(&dataset) == 1 &&
        ks_dataset_read(&dataset, &whole, &all, H5T_NATIVE_DOUBLE, &value, &failure) ==
            KS_EXIT_DONE) {
        if (state->as_json) ks_json_number(&state->json, name, value);
        else printf("\n%s %.9f\n", words, value);
    }
    ks_dataset_close(&dataset);
}

ks_exit ks_info_output(hid_t file, const char *name, bool json, ks_failure *failure)
{
    walk state = {.file = name, .as_json = json};
    hsize_t position = 0;
    if (json) {
        ks_json_open(&state.json, NULL, '{');
        ks_json_text(&state.json, "file", name);
        ks_json_text(&state.json, "kind", "output");
        ks_json_open(&state.json, "attributes", '{');
    } else {
        printf("%s: output of kalscan\n\nAttributes\n", name);
    }
    const herr_t attributes = H5Aiterate2(file, H5_INDEX_NAME, H5_ITER_INC, &position,
                                          show_attribute, &state);
    if (json) {
        ks_json_close(&state.json, '}');
        ks_json_open(&state.json, "datasets", '[');
    } else {
        printf("\nArrays\n");
    }
    const herr_t objects = H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, show_object, &state,
                                     H5O_INFO_BASIC);
    if (json) ks_json_close(&state.json, ']');
    if (attributes < 0 || objects < 0)
        ks_fail_h5(failure, KS_EXIT_FILE, "%s: cannot read all of its objects", name);
    show_number(&state, file, "loglik", "log-likelihood");
    show_number(&state, file, "logdet", "log-determinant");
    if (json) {
        ks_json_close(&state.json, '}');
        ks_json_end();
    }
    return failure->code;
}
