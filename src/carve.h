/* carve.h -- dividing one block of workspace into pieces.
 *
 * Write one function that carves everything an algorithm needs, and run it twice. With a NULL base it measures, with
 * the caller's block it places. The size and the layout therefore always agree:
 *
 *     static void carve(ks_carver *c, const plan *p, workspace *w)
 *     {
 *         w->gain = ks_carve(c, p->steps, sizeof(double));
 *         w->inner = ks_carve(c, 1, ks_scan_workspace_bytes(p->scan, &p->op));
 *     }
 *     ks_carver measure = ks_carver_at(NULL);       ks_carver place = ks_carver_at(work);
 *     carve(&measure, p, &unused);                  carve(&place, p, &w);
 *     return ks_carved_bytes(&measure);             ... ks_carve_end(&place);
 *
 * Under AddressSanitizer a poisoned red zone follows each piece. */
#ifndef KS_CARVE_H
#define KS_CARVE_H

#include <stddef.h>
#include <stdint.h>
#include "hd.h"

#if defined(__SANITIZE_ADDRESS__)
#  define KS_RED_ZONES 1
#elif defined(__has_feature)
#  if __has_feature(address_sanitizer)
#    define KS_RED_ZONES 1
#  endif
#endif
#ifdef KS_RED_ZONES
#  include <sanitizer/asan_interface.h>
#endif

/** Alignment of each piece, and required alignment of the block. */
#define KS_CARVE_ALIGNMENT 64

typedef struct ks_carver {
    char *base;   /**< the block, or NULL to measure                         */
    size_t used;  /**< bytes carved so far, a multiple of KS_CARVE_ALIGNMENT */
    int overflow; /**< set for good when a size exceeds size_t               */
} ks_carver;

KS_HD ks_carver ks_carver_at(void *base)
{
    ks_carver carver = {(char *)base, 0, 0};
    return carver;
}

/** Return `count` items of `bytes` bytes, aligned to KS_CARVE_ALIGNMENT, with undefined contents. Returns NULL when
 *  measuring and after an overflow. A piece of 0 bytes takes no space. */
KS_HD void *ks_carve(ks_carver *carver, size_t count, size_t bytes)
{
#ifdef KS_RED_ZONES
    const size_t zone = KS_CARVE_ALIGNMENT;
#else
    const size_t zone = 0;
#endif
    const size_t margin = zone + KS_CARVE_ALIGNMENT - 1;
    if (carver->overflow || (bytes != 0 && count > SIZE_MAX / bytes) ||
        count * bytes > SIZE_MAX - margin || carver->used > SIZE_MAX - margin - count * bytes) {
        carver->overflow = 1;
        return NULL;
    }
    const size_t exact = count * bytes;
    const size_t whole = (exact + margin) / KS_CARVE_ALIGNMENT * KS_CARVE_ALIGNMENT;
    char *piece = carver->base ? carver->base + carver->used : NULL;
    carver->used += whole;
#ifdef KS_RED_ZONES
    if (piece) {
        __asan_unpoison_memory_region(piece, exact);
        __asan_poison_memory_region(piece + exact, whole - exact);
    }
#endif
    return piece;
}

/** Return the bytes of all pieces so far, or SIZE_MAX after an overflow. */
KS_HD size_t ks_carved_bytes(const ks_carver *carver)
{
    return carver->overflow ? SIZE_MAX : carver->used;
}

/** Call this when the pieces are no longer used. It removes the red zones, so that the owner may use the block
 *  freely. */
KS_HD void ks_carve_end(ks_carver *carver)
{
#ifdef KS_RED_ZONES
    if (carver->base) __asan_unpoison_memory_region(carver->base, carver->used);
#else
    (void)carver;
#endif
}

#endif
