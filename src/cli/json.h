/* json.h -- one JSON value on stdout, written as it comes. */
#ifndef KS_CLI_JSON_H
#define KS_CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>

/** Zero-initialised: nothing written yet. */
typedef struct ks_json {
    int depth;
    bool filled[16];  /**< does the object or list of this depth have a member already */
} ks_json;

/** Members of the open object, or of the open list when name is NULL. */
void ks_json_open(ks_json *json, const char *name, char bracket);  /**< '{' or '[' */
void ks_json_close(ks_json *json, char bracket);                   /**< '}' or ']' */
void ks_json_text(ks_json *json, const char *name, const char *value);  /**< NULL: null */
void ks_json_integer(ks_json *json, const char *name, int64_t value);
void ks_json_number(ks_json *json, const char *name, double value);     /**< not finite: null */
void ks_json_boolean(ks_json *json, const char *name, bool value);

/** The line ends. */
void ks_json_end(void);

#endif
