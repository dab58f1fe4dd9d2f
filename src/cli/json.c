#include "json.h"

#include <math.h>
#include <stdio.h>

/* Return the bytes of the UTF-8 character that starts here, 0 if there is none (RFC 3629: shortest form, no surrogate,
 * at most U+10FFFF). */
static int utf8_length(const unsigned char *c)
{
    const int length = c[0] < 0x80 ? 1 : c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3
                     : c[0] < 0xf5 ? 4 : 0;
    for (int i = 1; i < length; ++i)
        if ((c[i] & 0xc0) != 0x80) return 0;
    if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) ||
        (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f))
        return 0;
    return length;
}

/* JSON is UTF-8, but file names are any bytes. A byte that belongs to no character becomes a lone low surrogate, from
 * which Python (os.fsencode) restores the byte. */
static void quoted(const char *text)
{
    putchar('"');
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        const int length = utf8_length(c);
        if (length == 0)
            printf("\\udc%02x", *c);
        else if (*c == '"' || *c == '\\')
            printf("\\%c", *c);
        else if (*c < 0x20)
            printf("\\u%04x", *c);
        else
            fwrite(c, 1, (size_t)length, stdout);
        c += length ? length : 1;
    }
    putchar('"');
}

static void member(ks_json *json, const char *name)
{
    if (json->filled[json->depth]) printf(", ");
    json->filled[json->depth] = true;
    if (name) {
        quoted(name);
        printf(": ");
    }
}

void ks_json_open(ks_json *json, const char *name, char bracket)
{
    member(json, name);
    putchar(bracket);
    json->filled[++json->depth] = false;
}

void ks_json_close(ks_json *json, char bracket)
{
    putchar(bracket);
    --json->depth;
}

void ks_json_text(ks_json *json, const char *name, const char *value)
{
    member(json, name);
    if (value) quoted(value);
    else printf("null");
}

void ks_json_integer(ks_json *json, const char *name, int64_t value)
{
    member(json, name);
    printf("%lld", (long long)value);
}

void ks_json_number(ks_json *json, const char *name, double value)
{
    member(json, name);
    if (isfinite(value)) printf("%.17g", value);
    else printf("null");
}

void ks_json_boolean(ks_json *json, const char *name, bool value)
{
    member(json, name);
    printf(value ? "true" : "false");
}

void ks_json_end(void) { putchar('\n'); }
