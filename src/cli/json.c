#include "json.h"

#include <math.h>
#include <stdio.h>

static void quoted(const char *text)
{
    putchar('"');
    for (const unsigned char *c = (const unsigned char *)text; *c; ++c) {
        if (*c == '"' || *c == '\\')
            printf("\\%c", *c);
        else if (*c < 0x20)
            printf("\\u%04x", *c);
        else
            putchar(*c);
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
