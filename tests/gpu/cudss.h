/* cudss.h -- the calls of cuDSS 1 that a benchmark makes, loaded from its shared library at run time.
 *
 * Written after the public documentation of the library, docs.nvidia.com/cuda/cudss; its headers are not needed. The
 * numbers of its enumerations and of CUDA's data types are here with their names. Handles are pointers. A call returns
 * 0 on success. */
#ifndef GPU_CUDSS_H
#define GPU_CUDSS_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CUDSS_ANALYSIS = 1 | 2,            /* reordering, symbolic factorization */
    CUDSS_FACTORIZATION = 4,
    CUDSS_REFACTORIZATION = 8,
    CUDSS_SOLVE = 0x3f0,               /* all six parts of it */
    CUDSS_POSITIVE_DEFINITE = 3,       /* SPD */
    CUDSS_LOWER = 1, CUDSS_UPPER = 2,  /* the triangle that is given */
    CUDSS_BASE_ZERO = 0,
    CUDSS_COLUMNS = 0,                 /* dense matrices by columns */
    CUDSS_F64 = 1, CUDSS_I32 = 10, CUDSS_I64 = 24, /* CUDA_R_64F, CUDA_R_32I, CUDA_R_64I */
    CUDSS_INFO = 0, CUDSS_FACTOR_ENTRIES = 1, /* data to get: an int, an int64_t */
    CUDSS_MAJOR = 0, CUDSS_MINOR = 1   /* of the version */
};

/* Name and types of each call. Sparse matrix: rows, columns, entries, begins and ends of rows (ends NULL: at the next
 * begin), columns, values; types of offsets, columns, values; kind, triangle, base. Dense matrix: rows, columns,
 * leading dimension, values; type, layout. */
#define CUDSS_LIST(E)                                                                              \
    E(cudssGetProperty, (int, int *)) E(cudssCreate, (void **)) E(cudssDestroy, (void *))          \
        E(cudssSetStream, (void *, void *)) E(cudssConfigCreate, (void **))                        \
        E(cudssConfigDestroy, (void *)) E(cudssDataCreate, (void *, void **))                      \
        E(cudssDataDestroy, (void *, void *))                                                      \
        E(cudssMatrixCreateCsr, (void **, int64_t, int64_t, int64_t, const void *, const void *,   \
                                 const void *, const void *, int, int, int, int, int, int))        \
        E(cudssMatrixCreateDn, (void **, int64_t, int64_t, int64_t, const void *, int, int))       \
        E(cudssMatrixDestroy, (void *))                                                            \
        E(cudssExecute, (void *, int, void *, void *, void *, void *, void *))                     \
        E(cudssDataGet, (void *, void *, int, void *, size_t, size_t *))

typedef struct cudss {
    void *library;
    int version[2];            /* major, minor */
#define MEMBER(name, types) int (*name) types;
    CUDSS_LIST(MEMBER)
#undef MEMBER
} cudss;

/** Open the library that the environment variable KALSCAN_CUDSS names, or the one that the loader finds. Returns 0, or
 *  1 after printing to stderr what is missing: the library, a call, or version 1. */
static inline int cudss_open(cudss *c)
{
    const char *const path = getenv("KALSCAN_CUDSS");
    c->library = dlopen(path ? path : "libcudss.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!c->library && !path) c->library = dlopen("libcudss.so", RTLD_NOW | RTLD_LOCAL);
    if (!c->library) {
        fprintf(stderr, "no cuDSS: %s\n", dlerror());
        return 1;
    }
    void *symbol;
#define FIND(name, types)                                   \
    symbol = dlsym(c->library, #name);                      \
    if (!symbol) {                                          \
        fprintf(stderr, "cuDSS without %s\n", #name);       \
        return 1;                                           \
    }                                                       \
    memcpy((void *)&c->name, &symbol, sizeof symbol);
    CUDSS_LIST(FIND)
#undef FIND
    if (c->cudssGetProperty(CUDSS_MAJOR, &c->version[0]) || c->cudssGetProperty(CUDSS_MINOR, &c->version[1]) ||
        c->version[0] != 1) {
        fputs("cuDSS of another version than 1\n", stderr);
        return 1;
    }
    return 0;
}

#endif
