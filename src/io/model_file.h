/* model_file.h -- the input of `smooth` and `filter`: observations, model, and the conventions they are written in.
 * Opening examines shapes and attributes only, loading reads the values. */
#ifndef KS_IO_MODEL_FILE_H
#define KS_IO_MODEL_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <hdf5.h>
#include "kalscan/smooth.h"
#include "convention.h"
#include "dataset.h"
#include "failure.h"
#include "problems.h"

/** Return "x0", "into", ... as in files and on the command line; NULL for an unknown value. */
const char *ks_prior_name(int prior);
const char *ks_transition_name(int transition);

/** Where to look for the input. Start from KS_INPUT_PLACES_INIT. */
typedef struct ks_input_places {
    const char *file;
    const char *y;            /**< dataset of the observations     */
    const char *model;        /**< group of the model              */
    const char *model_file;   /**< file of the model; NULL: `file` */
    int prior, transition, layout;  /**< override the attributes; -1: do not                     */
    bool diffuse;             /**< P0_inf is the identity; m0, P0 and P0_inf of the model are not read */
} ks_input_places;
#define KS_INPUT_PLACES_INIT { NULL, "/y", "/model", NULL, -1, -1, -1, false }

/** The arrays of a model. */
typedef enum ks_input_name {
    KS_INPUT_F, KS_INPUT_Q, KS_INPUT_U, KS_INPUT_H, KS_INPUT_R, KS_INPUT_D, KS_INPUT_M0,
    KS_INPUT_P0, KS_INPUT_P0_INF, KS_INPUT_ARRAYS
} ks_input_name;

/** One array of the model. */
typedef struct ks_input_array {
    const char *name;      /**< "F"                                           */
    ks_dataset dataset;    /**< id -1: absent                                 */
    bool diagonal;         /**< the dataset holds the diagonal of the matrix  */
    int rows, columns;     /**< of the block in memory; vectors have 1 column */
    ks_fit fit;
    int64_t first_row;     /**< rows read from the file, along the step axis:                */
    int64_t row_count;     /**< first_row .. first_row + row_count - 1                       */
    int64_t shift;         /**< row k of the file is step k + shift: 1 for "out-of" per step */
    int64_t steps, series; /**< blocks in memory along each axis, 1: shared; 0: not known    */
    bool misfit;           /**< its shape is a problem                                       */
    void *data;            /**< owned; NULL until loaded                                     */
} ks_input_array;

/** Counts of missing entries. A gap is a run of steps of one series without any entry. */
typedef struct ks_missing {
    int64_t entries, empty_rows, longest_gap, gap_series, gap_step;
} ks_missing;

typedef struct ks_input {
    ks_input_places places;
    hid_t file, model_file;        /**< the same identifier if it is one file                    */
    int64_t T, B;                  /**< -1: not known                                            */
    int64_t ahead;                 /**< steps of T after the last row of y, without observations */
    int nx, ny;                    /**< -1: not known                                            */
    bool batched;                  /**< y has an axis of series, and so have the outputs         */
    ks_prior prior;
    ks_transition transition;
    ks_layout layout;
    bool layout_stated;            /**< by attribute or option                                         */
    ks_precision precision;        /**< of the loaded arrays                                           */
    bool narrowed;                 /**< the computation rounds covariances to single, even if not here */
    ks_input_array arrays[KS_INPUT_ARRAYS];
    ks_dataset y_dataset, t_dataset;
    ks_fit y_fit;
    void *y;                       /**< (B, T, ny), NaN: missing; owned */
    double *t;                     /**< (T), NULL: none; owned          */
    ks_missing missing;
    ks_problems problems;
    ks_notes notes;                /**< objects that look like part of the input and are not read */
} ks_input;

/** Open an input and determine its sizes and conventions. On success the caller owns *out and closes it with
 *  ks_input_close(). Its `problems` list what is wrong with the content. On failure *out is NULL. A path of more than
 *  KS_PATH_MOST characters is KS_EXIT_USAGE. places is copied; its strings must outlive the input. */
ks_exit ks_input_open(ks_input **out, const ks_input_places *places, ks_failure *failure);

/** Return the first dataset written by MATLAB, of the model or else y: its axes may be in the other order. NULL:
 *  none. */
const ks_dataset *ks_input_of_matlab(const ks_input *input);

/** Add steps without observations after the last one; time stamps continue as in the last two. Fails (KS_EXIT_USAGE)
 *  for a model that varies with the step, since it does not describe these steps. Call it between ks_input_open(), if
 *  there are no problems, and ks_input_load(). */
ks_exit ks_input_extend(ks_input *input, int64_t steps, ks_failure *failure);

/** Fail (KS_EXIT_USAGE) if the output is a file that holds values of the input, also behind links. output NULL:
 *  none. */
ks_exit ks_input_spare(const ks_input *input, const char *output, ks_failure *failure);

/** Return the bytes that loading an input without problems allocates; SIZE_MAX if they overflow. */
size_t ks_input_bytes(const ks_input *input, ks_precision precision);

/** Read and check all values, in the precision of the computation; KS_MIXED reads doubles. Wrong values are added to
 *  problems, one for each array. progress may be NULL. Call it once, and only for an input without problems. */
ks_exit ks_input_load(ks_input *input, ks_precision precision, ks_io_progress progress,
                      void *user, ks_failure *failure);

/** Return the loaded model and observations for the library. They point into the input. With a diffuse prior m0 and P0
 *  may be absent. */
void ks_input_views(const ks_input *input, ks_model *model, ks_view *y);

/** Whether the prior is infinite in some directions, as far as the shapes tell. */
bool ks_input_is_diffuse(const ks_input *input);

/** Return the loaded P0_inf, the covariance of these directions; without data if the prior is finite. */
ks_view ks_input_diffuse(const ks_input *input);

/** Close the files and free everything. NULL is allowed. */
void ks_input_close(ks_input *input);

#endif
