#include "failure.h"

#include <stdarg.h>
#include <stdio.h>

ks_exit ks_fail(ks_failure *failure, ks_exit code, const char *format, ...)
{
    if (failure->code != KS_EXIT_DONE) return failure->code;
    failure->code = code;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure->text, sizeof failure->text, format, arguments);
    va_end(arguments);
    return code;
}
