#include "failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t shown_width(unsigned char letter) { return letter < 0x20 || letter == 0x7f ? 4 : 1; }

void ks_text_escape(char *text, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    size_t length = 0, used = 0;
    for (; text[length] && used + shown_width((unsigned char)text[length]) < size; ++length)
        used += shown_width((unsigned char)text[length]);
    if (used == length) return;
    /* Backwards: the text grows into the room behind it. */
    for (text[used] = '\0'; length > 0;) {
        const unsigned char letter = (unsigned char)text[--length];
        used -= shown_width(letter);
        if (shown_width(letter) == 1) {
            text[used] = (char)letter;
            continue;
        }
        text[used] = '\\';
        text[used + 1] = 'x';
        text[used + 2] = digits[letter >> 4];
        text[used + 3] = digits[letter & 15];
    }
}

void ks_text_fit(char *text, size_t size, const char *format, va_list arguments)
{
    static const char gap[] = " ... ";
    va_list again;
    va_copy(again, arguments);
    const int length = vsnprintf(text, size, format, arguments);
    char *whole = length < 0 || (size_t)length < size ? NULL : malloc((size_t)length + 1);
    if (whole && vsnprintf(whole, (size_t)length + 1, format, again) == length) {
        const size_t head = size / 3, tail = size - head - sizeof gap;
        memcpy(text + head, gap, sizeof gap - 1);
        memcpy(text + head + sizeof gap - 1, whole + (size_t)length - tail, tail + 1);
    }
    va_end(again);
    free(whole);
    ks_text_escape(text, size);
}

ks_exit ks_fail(ks_failure *failure, ks_exit code, const char *format, ...)
{
    if (failure->code != KS_EXIT_DONE) return failure->code;
    failure->code = code;
    va_list arguments;
    va_start(arguments, format);
    ks_text_fit(failure->text, sizeof failure->text, format, arguments);
    va_end(arguments);
    return code;
}
