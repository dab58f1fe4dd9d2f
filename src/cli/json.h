/* json.h -- one JSON value on stdout, written piece by piece. */
#ifndef KS_CLI_JSON_H
#define KS_CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>

/** Initialize with zeros: nothing written yet. */
typedef struct ks_json {
    int depth;
    bool filled[16];  /**< whether the object or list at each depth has a member already */
} ks_json;

/** Write a member of the open object, or of the open list if name is NULL. */
void ks_json_open(ks_json *json, const char *name, char bracket);  /**< '{' or '[' */
void ks_json_close(ks_json *json, char bracket);                   /**< '}' or ']' */
void ks_json_text(ks_json *json, const char *name, const char *value);  /**< NULL: null */
void ks_json_integer(ks_json *json, const char *name, int64_t value);
void ks_json_number(ks_json *json, const char *name, double value);     /**< not finite: null */
void ks_json_boolean(ks_json *json, const char *name, bool value);

/** End the line. */
void ks_json_end(void);

#endif
