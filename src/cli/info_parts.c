/* Functions that the explanations of all kinds of files share. */
#include "info.h"

#include <stdio.h>

void ks_info_print_dataset(const ks_dataset *dataset, const char *meaning)
{
    char shape[256];
    ks_shape_text(dataset->dims, dataset->rank, shape, sizeof shape);
    printf("  %-16s %-20s %-8s %s\n", dataset->path, shape, dataset->type, meaning);
}

static void print_list(const char *title, int count, const char *texts, size_t stride, int kept)
{
    if (count == 0) return;
    printf("\n%s\n", title);
    for (int i = 0; i < count && i < kept; ++i) printf("  %s\n", texts + (size_t)i * stride);
    if (count > kept) printf("  and %d more\n", count - kept);
}

void ks_info_print_findings(const ks_notes *list, const ks_problems *problems)
{
    print_list("Notes", list->count, list->text[0], sizeof list->text[0], list->count);
    print_list("Problems", problems->count, problems->text[0], KS_FAILURE_TEXT, KS_PROBLEMS_KEPT);
    if (problems->count == 0) printf("\nNo problems found.\n");
}

void ks_info_json_size(ks_json *json, const char *name, int64_t size)
{
    if (size >= 0) ks_json_integer(json, name, size);
    else ks_json_text(json, name, NULL);
}

void ks_info_json_dataset(ks_json *json, const ks_dataset *dataset, const char *meaning)
{
    ks_json_open(json, NULL, '{');
    ks_json_text(json, "path", dataset->path);
    ks_json_open(json, "shape", '[');
    for (int i = 0; i < dataset->rank; ++i) ks_json_integer(json, NULL, dataset->dims[i]);
    ks_json_close(json, ']');
    ks_json_text(json, "type", dataset->type);
    ks_json_text(json, "meaning", meaning);
    ks_json_close(json, '}');
}

void ks_info_json_findings(ks_json *json, const ks_notes *list, const ks_problems *problems)
{
    ks_json_open(json, "notes", '[');
    for (int i = 0; i < list->count; ++i) ks_json_text(json, NULL, list->text[i]);
    ks_json_close(json, ']');
    ks_json_open(json, "problems", '[');
    for (int i = 0; i < problems->count && i < KS_PROBLEMS_KEPT; ++i)
        ks_json_text(json, NULL, problems->text[i]);
    ks_json_close(json, ']');
}
