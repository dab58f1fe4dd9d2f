/* map_table_text.h -- the ks_map_kernels table; see map.h. The includer sets KS_MAP_TABLE, its name. */
#include "literal.h"

/* State counts compiled as literals: all up to KS_MAP_FEW. An includer may define none of them (nx), or only more
 * states (wide). */
#ifndef KS_WITH_STATES
#define KS_WITH_STATES(nx, CALL)                                                            \
    switch (nx) { KS_CASES(CALL, 1, 2, 3, 4, 5, 6, 7, 8) default: CALL(wide); break; }
#endif

/** Return nx, which is more than KS_MAP_FEW. The compiler is told so and leaves out the code for fewer states. */
KS_HD int KS_T(ks_map_many)(const ks_series *s)
{
    if (s->nx <= KS_MAP_FEW) __builtin_unreachable();
    return s->nx;
}

static size_t KS_T(map_memory_bytes)(int nx, int ny)
{
    KS_T(ks_map_memory) unused;
    return (sizeof(KS_T(ks_map_memory)) + 63) / 64 * 64 +
           (size_t)KS_T(ks_map_lay_out)(nx, ny, (KS_NUM *)0, &unused) * sizeof(KS_NUM);
}

static void KS_T(map_open)(int nx, int ny, void *memory)
{
    KS_T(ks_map_memory) *w = (KS_T(ks_map_memory) *)memory;
    KS_NUM *base = (KS_NUM *)(void *)((char *)memory + (sizeof *w + 63) / 64 * 64);
    const int64_t numbers = KS_T(ks_map_lay_out)(nx, ny, base, w);
    /* Padding behind the ends of rows is zero and stays so. */
    for (int64_t i = 0; i < numbers; ++i) base[i] = KS_LIT(0);
}

static int KS_T(map_assemble)(const ks_series *s, int64_t k, int own, int before,
                              const ks_map_system *a, void *memory, ks_tally *tally)
{
    KS_T(ks_map_memory) *w = (KS_T(ks_map_memory) *)memory;
    return KS_T(ks_map_assemble)(s->nx, s, k, own, before, a, w, tally);
}

static int KS_T(map_review)(const ks_series *s, int64_t k, int own, int before,
                            const ks_map_system *a, void *memory, ks_map_review *r,
                            ks_tally *tally)
{
    KS_T(ks_map_memory) *w = (KS_T(ks_map_memory) *)memory;
    return KS_T(ks_map_review)(s->nx, s, k, own, before, a, w, r, tally);
}

static void KS_T(map_correct)(int nx, int64_t k0, int64_t k1, const ks_map_system *a)
{
    for (int64_t k = k0; k < k1; ++k) {
        KS_NUM *x = (KS_NUM *)ks_slot_of(a->x, k);
        const KS_NUM *z = (const KS_NUM *)ks_slot_of(a->z, k);
        for (int i = 0; i < nx; ++i) x[i] = x[i] - z[i];
    }
}

/* Take steps k0 .. k1 - 1 in order, up or down, until one fails. */
#define KS_UP for (int64_t k = k0; k < k1 && rc == 0; ++k)
#define KS_DOWN for (int64_t k = k1 - 1; k >= k0 && rc == 0; --k)
/* Each literal state count has a function of its own: compile time more than doubles when a function doubles in
 * size. */
#define KS_MAP_STEPS(name, direction, number, states)                                       \
    KS_HD_COLD int KS_T(map_##name##_##number)(const ks_series *s, int64_t k0, int64_t k1,  \
                                               const ks_map_system *a, KS_T(ks_map_memory) *w, \
                                               ks_map_review *r, ks_tally *tally)           \
    {                                                                                       \
        int rc = 0;                                                                         \
        direction rc = KS_T(ks_map_##name)(states, s, k, a, w, r, tally);                   \
        return rc;                                                                          \
    }
#define KS_MAP_PASS(name, direction)                                                        \
    KS_MAP_STEPS(name, direction, 1, 1)                                                     \
    KS_MAP_STEPS(name, direction, 2, 2)                                                     \
    KS_MAP_STEPS(name, direction, 3, 3)                                                     \
    KS_MAP_STEPS(name, direction, 4, 4)                                                     \
    KS_MAP_STEPS(name, direction, 5, 5)                                                     \
    KS_MAP_STEPS(name, direction, 6, 6)                                                     \
    KS_MAP_STEPS(name, direction, 7, 7)                                                     \
    KS_MAP_STEPS(name, direction, 8, 8)                                                     \
    KS_MAP_STEPS(name, direction, wide, KS_T(ks_map_many)(s))                               \
    KS_MAP_STEPS(name, direction, nx, s->nx)                                                \
    static int KS_T(map_##name)(const ks_series *s, int64_t k0, int64_t k1,                 \
                                const ks_map_system *a, void *memory, ks_map_review *r,     \
                                ks_tally *tally)                                            \
    {                                                                                       \
        KS_T(ks_map_memory) *w = (KS_T(ks_map_memory) *)memory;                             \
        const int nx = s->nx;                                                               \
        int rc = 0;                                                                         \
        (void)nx; /* unused without literals */                                         \
        KS_WITH_STATES(nx, CALL)                                                            \
        return rc;                                                                          \
    }

#define CALL(nx) rc = KS_T(map_ascend_##nx)(s, k0, k1, a, w, r, tally)
KS_MAP_PASS(ascend, KS_UP)
#undef CALL
#define CALL(nx) rc = KS_T(map_descend_##nx)(s, k0, k1, a, w, r, tally)
KS_MAP_PASS(descend, KS_DOWN)
#undef CALL
#define CALL(nx) rc = KS_T(map_back_down_##nx)(s, k0, k1, a, w, r, tally)
KS_MAP_PASS(back_down, KS_DOWN)
#undef CALL
#define CALL(nx) rc = KS_T(map_back_up_##nx)(s, k0, k1, a, w, r, tally)
KS_MAP_PASS(back_up, KS_UP)
#undef CALL
#undef KS_MAP_PASS
#undef KS_MAP_STEPS
#undef KS_UP
#undef KS_DOWN

static void KS_T(map_meet)(int nx, int64_t k, const ks_map_system *a, void *up, void *down,
                           ks_map_review *r)
{
    KS_T(ks_map_meet)(nx, k, a, (KS_T(ks_map_memory) *)up, (KS_T(ks_map_memory) *)down, r);
}

static void KS_T(map_join)(int nx, int64_t k, const ks_map_system *a, void *up,
                           const void *down, ks_map_review *r)
{
    KS_T(ks_map_join)(nx, k, a, (KS_T(ks_map_memory) *)up, (const KS_T(ks_map_memory) *)down, r);
}

const ks_map_kernels KS_MAP_TABLE = {
    KS_T(map_memory_bytes), KS_T(map_open),    KS_T(map_assemble), KS_T(map_review),
    KS_T(map_correct),      KS_T(map_ascend),  KS_T(map_descend),  KS_T(map_meet),
    KS_T(map_back_down),    KS_T(map_back_up), KS_T(map_join),
};
#undef KS_WITH_STATES
