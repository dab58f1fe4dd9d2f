/* general_system.h -- random general block-tridiagonal systems and their dense counterparts. */
#ifndef GENERAL_SYSTEM_H
#define GENERAL_SYSTEM_H

#include <stddef.h>
#include <stdint.h>
#include "kalscan/general.h"

/** What blocks look like. */
typedef enum gs_kind {
    GS_TRIDIAGONAL, /* tridiagonal D, about one entry a row in L and U: the paper's      */
    GS_DENSE,       /* all blocks dense                                                  */
    GS_MIXED        /* D by turns tridiagonal and dense, L and U empty to full           */
} gs_kind;
enum { GS_KINDS = 3 };

/** Dense blocks, as a user has them, and the right-hand side of a known solution. */
typedef struct general_system {
    int64_t N;
    int n, nrhs;
    double *D, *L, *U;      /* (N, n, n), (N - 1, n, n) twice             */
    double *b, *x, *truth;  /* (N, n, nrhs); x is NaN until a solve       */
} general_system;

/** A random system, `radius` the spectral radius of D^-1 (L + U); < 0: as it comes. */
general_system general_system_make(gs_kind kind, int64_t N, int n, int nrhs, double radius,
                                   unsigned seed);
/** Zero system; the caller fills D, L, U and then calls general_system_truth(). */
general_system general_system_empty(int64_t N, int n, int nrhs);
/** Draw a solution and make b. */
void general_system_truth(general_system *system, unsigned seed);
void general_system_free(general_system *system);

ks_general_packed *general_system_pack(const general_system *system, ks_context *context);

/** Solution by dense LU with partial pivoting, (N, n, nrhs); the caller frees it. */
double *general_system_solution(const general_system *system);

/** Memory aligned to 64; the caller frees it. */
void *general_system_memory(size_t bytes);

/** Pack, plan, factorize and solve with 64-byte aligned memory. The status is of the first call
 *  that failed; x of the system is the solution. */
ks_status general_system_solve(general_system *system, ks_context *context,
                               const ks_general_options *options, ks_general_report *report,
                               ks_general_method *method);

/** Largest |x - truth| over the largest |truth|. */
double general_system_error(const general_system *system);

#endif
