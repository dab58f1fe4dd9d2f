/* batch_scratch_text.h -- scratch of a group of series, and the evidence and counts of its lanes; see batch.h and
 * num_f64x4.h. */
#include "place.h"

/* Most steps whose rows are transposed together, and most bytes that they take. Measured at (4, 2) with all data in
 * memory, filter, nanoseconds per step and series: f32 112 with one step, 84 with 8, 70 with 16, 47 with 32; f64, whose
 * four lanes read half as many streams, 94 with one, 87 with 4, 94 with 8. */
enum { KS_T(ks_group_steps) = KS_LANES > 4 ? 32 : 4, KS_T(ks_group_bytes) = 160 * 1024 };

/** Scratch of a group. `at` counts packs. */
typedef struct KS_T(ks_group_scratch) {
    int nx, ny;
    KS_NUM *x, *P, *next_x, *next_P; /* estimates of all lanes, before and after a step */
    KS_NUM *xp, *Pp, *ET, *G, *S, *inverse_d, *v, *Z, *square;
    KS_NUM *F, *Q, *u, *H, *R, *d, *y;          /* rows of the inputs                   */
    KS_NUM *present_H, *present_R, *present_d, *present_y;
    KS_NUM *times;                              /* ks_noise_times() of a constant R     */
    KS_NUM *means, *covs;   /* estimates of several steps, and next to them those with which the      */
                            /* steps began; x, P, next_x and next_P point into them                   */
    KS_NUM *kept_means, *kept_covs;
    KS_NUM *begin;          /* initial estimates of all lanes in a range                              */
    KS_NUM *work;
    unsigned *present; /* entry i: lanes that have it */
    int steps;         /* whose rows are read and written together */
    unsigned done[KS_T(ks_group_steps)]; /* for each of them, the lanes that took it together */
    int64_t at;
} KS_T(ks_group_scratch);

KS_HD KS_T(ks_group_scratch) KS_T(ks_group_lay_out)(int nx, int ny, void *memory)
{
    KS_T(ks_group_scratch) w;
    KS_NUM *base = (KS_NUM *)memory;
    const int nn = nx * nx, mn = ny * nx, mm = ny * ny;
    const int row = (3 * nn + 2 * nx + mn + mm + 2 * ny) * (int)sizeof(KS_NUM);
    int steps = KS_T(ks_group_steps);
    while (steps > 1 && steps * row > KS_T(ks_group_bytes)) steps /= 2;
    w.nx = nx;
    w.ny = ny;
    w.steps = steps;
    int64_t at = 0;
    KS_PLACE(w.means, (steps + 1) * nx);
    KS_PLACE(w.covs, (steps + 1) * nn);
    KS_PLACE(w.kept_means, steps * nx);
    KS_PLACE(w.kept_covs, steps * nn);
    KS_PLACE(w.begin, nx + nn);
    KS_PLACE(w.xp, nx);
    KS_PLACE(w.Pp, nn);
    KS_PLACE(w.ET, nn);
    KS_PLACE(w.G, mn);
    KS_PLACE(w.S, mm);
    KS_PLACE(w.inverse_d, ny);
    KS_PLACE(w.v, ny);
    KS_PLACE(w.Z, mn);
    KS_PLACE(w.square, ny);
    KS_PLACE(w.F, steps * nn);
    KS_PLACE(w.Q, steps * nn);
    KS_PLACE(w.u, steps * nx);
    KS_PLACE(w.H, steps * mn);
    KS_PLACE(w.R, steps * mm);
    KS_PLACE(w.d, steps * ny);
    KS_PLACE(w.y, steps * ny);
    KS_PLACE(w.present_H, mn);
    KS_PLACE(w.present_R, mm);
    KS_PLACE(w.present_d, ny);
    KS_PLACE(w.present_y, ny);
    KS_PLACE(w.times, 1);
    KS_PLACE(w.work, 4 * nn + 2 * nx + 2 * mn + mm);
    w.present = base ? (unsigned *)(void *)(base + at) : NULL;
    w.at = at + ny;
    w.x = w.next_x = w.means;
    w.P = w.next_P = w.covs;
    return w;
}

/** log p of all lanes, see ks_evidence. */
typedef struct KS_T(ks_pack_evidence) {
    KS_DOUBLES quadratic, product, logs;
} KS_T(ks_pack_evidence);

/** Turn products that leave the middle of the number range into logarithms. They are `before` times `pivots`. */
KS_HD_COLD void KS_T(ks_pack_logs)(const KS_DOUBLES *before, const KS_DOUBLES *pivots, KS_T(ks_pack_evidence) *e)
{
    for (int l = 0; l < KS_LANES; ++l)
        if (!(e->product[l] > 1e-120 && e->product[l] < 1e120)) {
            e->logs[l] += ks_log_of_product(e->product[l], (*before)[l], (*pivots)[l]);
            e->product[l] = 1;
        }
}

/** Counts and sums of a range by lane, before they go to the tallies. */
typedef struct KS_T(ks_pack_tally) {
    KS_T(ks_pack_evidence) evidence;
    int64_t whole; /* steps of all lanes without a missing entry */
    int64_t whole_before[KS_LANES]; /* those before the lane's sums began */
    int64_t steps[KS_LANES], missing[KS_LANES]; /* other steps */
} KS_T(ks_pack_tally);

KS_HD_COLD void KS_T(ks_from_tally)(int l, const ks_tally *from, KS_T(ks_pack_tally) *to)
{
    to->evidence.quadratic[l] = from->evidence.quadratic;
    to->evidence.product[l] = from->evidence.product;
    to->evidence.logs[l] = from->evidence.logs;
    to->steps[l] = to->missing[l] = 0;
    to->whole_before[l] = to->whole;
}

KS_HD_COLD void KS_T(ks_to_tally)(int l, int ny, const KS_T(ks_pack_tally) *from,
                                   ks_tally *to)
{
    const int64_t steps = from->steps[l] + from->whole - from->whole_before[l];
    to->evidence.quadratic = from->evidence.quadratic[l];
    to->evidence.product = from->evidence.product[l];
    to->evidence.logs = from->evidence.logs[l];
    to->evidence.entries += steps * ny - from->missing[l];
    to->ordinary += steps;
    to->missing += from->missing[l];
}

/** Add the evidence of a step to the sums of the lanes in `good`. Return the lanes of `lanes` whose sum is still
 *  finite; the sums of others are unchanged. */
KS_HD unsigned KS_T(ks_pack_gather)(int ny, KS_MASK good, unsigned lanes,
                                    const KS_T(ks_group_scratch) *w,
                                    KS_T(ks_pack_evidence) *sums)
{
    KS_T(ks_pack_evidence) e = *sums;
    for (int i = 0; i < ny; ++i) {
        const KS_NUM pivot = KS_SELECT(good, w->S[i * ny + i], KS_LIT(1));
        w->square[i] = KS_SELECT(good, w->v[i] * w->v[i] * w->inverse_d[i], KS_LIT(0));
        e.quadratic = e.quadratic + KS_TO_DOUBLES(w->square[i]);
        const KS_DOUBLES before = e.product, pivots = KS_TO_DOUBLES(pivot);
        e.product = before * pivots;
        if (KS_DOUBLES_WITHIN(e.product, 1e-120, 1e120) != KS_EVERY) KS_T(ks_pack_logs)(&before, &pivots, &e);
    }
    lanes &= KS_DOUBLES_WITHIN(e.quadratic, -DBL_MAX, DBL_MAX);
    if (lanes == KS_EVERY) {
        *sums = e;
        return lanes;
    }
    for (int l = 0; l < KS_LANES; ++l) {
        if (!(lanes >> l & 1)) continue;
        sums->quadratic[l] = e.quadratic[l];
        sums->product[l] = e.product[l];
        sums->logs[l] = e.logs[l];
    }
    return lanes;
}
