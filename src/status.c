/* status.c -- the text of statuses and the version. */
#include "kalscan/status.h"
#include "ks_version.h"

const char *ks_strerror(ks_status status)
{
    switch (status) {
#define KS_STATUS_TEXT(name, value, text) case name: return text;
        KS_STATUS_LIST(KS_STATUS_TEXT)
#undef KS_STATUS_TEXT
    }
    return "unknown status";
}

const char *ks_status_name(ks_status status)
{
    switch (status) {
#define KS_STATUS_NAME(name, value, text) case name: return #name;
        KS_STATUS_LIST(KS_STATUS_NAME)
#undef KS_STATUS_NAME
    }
    return "KS_UNKNOWN";
}

const char *ks_version(void) { return KS_VERSION; }
