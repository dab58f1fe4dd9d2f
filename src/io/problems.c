#include "problems.h"

#include <stdarg.h>

void ks_problem_add(ks_problems *problems, const char *format, ...)
{
    if (problems->count < KS_PROBLEMS_KEPT) {
        va_list arguments;
        va_start(arguments, format);
        ks_text_fit(problems->text[problems->count], KS_FAILURE_TEXT, format, arguments);
        va_end(arguments);
    }
    ++problems->count;
}

ks_exit ks_problems_fail(const ks_problems *problems, bool listed, ks_failure *failure)
{
    if (problems->count == 0) return KS_EXIT_DONE;
    if (problems->count == 1)
        return ks_fail(failure, KS_EXIT_CONTENT, "%s", problems->text[0]);
    return ks_fail(failure, KS_EXIT_CONTENT, "%s (and %d more%s)", problems->text[0], problems->count - 1,
                   listed ? "; kalscan info lists them" : "");
}

void ks_note_add(ks_notes *list, const char *format, ...)
{
    if (list->count == (int)(sizeof list->text / sizeof *list->text)) return;
    va_list arguments;
    va_start(arguments, format);
    ks_text_fit(list->text[list->count++], sizeof list->text[0], format, arguments);
    va_end(arguments);
}
