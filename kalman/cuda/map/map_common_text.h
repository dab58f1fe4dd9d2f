/* map_common_text.h -- device code: terms of the MAP problem that are the same at all steps of a constant model. They
 * are computed once and read at every step. Included by map_team_text.h. */
#ifndef KS_MAP_COMMON
#define KS_MAP_COMMON
/** Flags at the beginning of ks_map_arrays.shared: which terms are stored, and whether R is known to be diagonal. */
enum { KS_COMMON_TRANSITION, KS_COMMON_OBSERVATION, KS_COMMON_DIAGONAL, KS_COMMON_FLAGS };
#endif

/** Pointers to the terms. */
struct KS_T(map_common) {
    KS_NUM *LD, *inverse_d, *precision, *a, *c; /* of the transition */
    KS_NUM *LR, *inverse_r, *sH, *b;            /* of the observation; b: with the precision */
};

KS_DEVICE KS_T(map_common) KS_T(map_common_of)(const ks_map_arrays &m)
{
    const int n = KS_STATES(m.a.series.nx), ny = KS_ENTRIES(m.a.series.ny);
    KS_NUM *room = m.shared + KS_COMMON_FLAGS;
    KS_T(map_common) c;
    c.LD = KS_T(map_take)(&room, n * n);
    c.inverse_d = KS_T(map_take)(&room, n);
    c.precision = KS_T(map_take)(&room, n * n);
    c.a = KS_T(map_take)(&room, n * n);
    c.c = KS_T(map_take)(&room, n * n);
    c.LR = KS_T(map_take)(&room, ny * ny);
    c.inverse_r = KS_T(map_take)(&room, ny);
    c.sH = KS_T(map_take)(&room, ny * n);
    c.b = KS_T(map_take)(&room, n * n);
    return c;
}

KS_DEVICE bool KS_T(map_shares)(const ks_map_arrays &m, int which) { return m.shared[which] != KS_LIT(0); }

KS_DEVICE void KS_T(map_take_transition)(const ks_map_arrays &m, const KS_T(map_step) &t)
{
    const KS_T(map_common) c = KS_T(map_common_of)(m);
    const int n = KS_STATES(m.a.series.nx);
    KS_TEAM_EACH(i, n * n) {
        t.LD[i] = c.LD[i];
        t.range.b[i] = c.precision[i];
        t.range.a[i] = c.a[i];
        t.range.c[i] = c.c[i];
    }
    KS_TEAM_EACH(i, n) t.inverse_d[i] = c.inverse_d[i];
}

/** b becomes that of the whole step. Returns whether R is known to be diagonal. */
KS_DEVICE bool KS_T(map_take_observation)(const ks_map_arrays &m, const KS_T(map_step) &t)
{
    const KS_T(map_common) c = KS_T(map_common_of)(m);
    const int n = KS_STATES(m.a.series.nx), ny = KS_ENTRIES(m.a.series.ny);
    KS_TEAM_EACH(i, ny * ny) t.LR[i] = c.LR[i];
    KS_TEAM_EACH(i, ny) t.inverse_r[i] = c.inverse_r[i];
    KS_TEAM_EACH(i, ny * n) t.sH[i] = c.sH[i];
    KS_TEAM_EACH(i, n * n) t.range.b[i] = c.b[i];
    ks_team_sync();
    return KS_T(map_shares)(m, KS_COMMON_DIAGONAL);
}

KS_DEVICE void KS_T(map_keep_transition)(const ks_map_arrays &m, const KS_T(map_step) &t)
{
    const KS_T(map_common) c = KS_T(map_common_of)(m);
    const int n = KS_STATES(m.a.series.nx);
    ks_team_sync();
    KS_TEAM_EACH(i, n * n) {
        c.LD[i] = t.LD[i];
        c.precision[i] = t.range.b[i];
        c.a[i] = t.range.a[i];
        c.c[i] = t.range.c[i];
    }
    KS_TEAM_EACH(i, n) c.inverse_d[i] = t.inverse_d[i];
}

KS_DEVICE void KS_T(map_keep_observation)(const ks_map_arrays &m, const KS_T(map_step) &t)
{
    const KS_T(map_common) c = KS_T(map_common_of)(m);
    const int n = KS_STATES(m.a.series.nx), ny = KS_ENTRIES(m.a.series.ny);
    ks_team_sync();
    KS_TEAM_EACH(i, ny * ny) c.LR[i] = t.LR[i];
    KS_TEAM_EACH(i, ny) c.inverse_r[i] = t.inverse_r[i];
    KS_TEAM_EACH(i, ny * n) c.sH[i] = t.sH[i];
    KS_TEAM_EACH(i, n * n) c.b[i] = t.range.b[i];
}
