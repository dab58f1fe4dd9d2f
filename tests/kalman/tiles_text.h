/* tiles_text.h -- tests of the hand-shaped ranges in one precision; see num_f64.h. Included by
 * test_tiles.c after the plain texts. */

/** Everything that a filter and a smoother of one series put out, rows one number further apart than
 *  they need be and the first one off any alignment. */
typedef struct KS_T(results) {
    KS_NUM *memory;
    ks_sink predicted_mean, predicted_cov, filtered_mean, filtered_cov, innovation, innovation_cov;
    ks_sink smoothed_mean, smoothed_cov, lag_one_cov, kept_mean, kept_cov;
    double terms[5 * STEPS];
    unsigned char form[5 * STEPS];
    int rc;
    ks_tally tally;
} KS_T(results);

static void KS_T(run_ranges)(const ks_kernels *kernels, const ks_series *s, int singly, KS_T(results) *r)
{
    const int64_t T = s->steps, nx = s->nx, ny = s->ny;
    const int64_t block[11] = { nx, nx * nx, nx, nx * nx, ny, ny * ny, nx, nx * nx, nx * nx, nx,
                                nx * nx };
    ks_sink *sinks[11] = { &r->predicted_mean, &r->predicted_cov, &r->filtered_mean,
                           &r->filtered_cov,   &r->innovation,    &r->innovation_cov,
                           &r->smoothed_mean,  &r->smoothed_cov,  &r->lag_one_cov,
                           &r->kept_mean,      &r->kept_cov };
    int64_t numbers = 1;
    for (int i = 0; i < 11; ++i) numbers += T * (block[i] + 1);
    r->memory = (KS_NUM *)zeroed((size_t)numbers, sizeof *r->memory);
    int64_t at = 1;
    for (int i = 0; i < 11; ++i) {
        const ks_sink sink = { (char *)(r->memory + at),
                               (block[i] + 1) * (int64_t)sizeof(KS_NUM), 0 };
        *sinks[i] = sink;
        at += T * (block[i] + 1);
    }
    ks_forward_sinks to = { 0 };
    to.predicted_mean = r->predicted_mean;
    to.predicted_cov = r->predicted_cov;
    to.filtered_mean = r->filtered_mean;
    to.filtered_cov = r->filtered_cov;
    to.innovation = r->innovation;
    to.innovation_cov = r->innovation_cov;
    to.loglik_terms.base = (char *)r->terms;
    to.loglik_terms.stride = sizeof(double);
    to.kept_mean = r->kept_mean;
    to.kept_C = r->kept_cov;
    to.form = r->form;
    const ks_backward_sinks back = { r->smoothed_mean, r->smoothed_cov, { NULL, 0, 0 },
                                     r->lag_one_cov, { NULL, 0, 0 } };
    /* More than any range needs, plus what a failing one would write. */
    const size_t most = kernels ? kernels->scratch_bytes(s->nx, s->ny)
                                : (size_t)(KS_T(ks_range_scratch)(s->nx, s->ny) +
                                           KS_T(ks_memo_scratch)(s->nx, s->ny)) * sizeof(KS_NUM);
    KS_NUM *work = (KS_NUM *)zeroed(most, 1);
    KS_NUM *x = (KS_NUM *)zeroed((size_t)nx, sizeof *x);
    KS_NUM *C = (KS_NUM *)zeroed((size_t)(nx * nx), sizeof *C);
    ks_state state = { x, C, KS_FORM_ORDINARY, KS_NOT_STEADY };
    r->tally = ks_tally_start();
    const unsigned mode = ks_flush_begin();
    KS_T(ks_start)(s, &state, work);
    /* A break where no kernel expects one. */
    const int64_t cuts[] = { 0, 1, 19, T };
    r->rc = 0;
    for (int64_t k = 0; singly && k < T && !r->rc; ++k)
        r->rc = kernels->filter(s, k, k + 1, &state, &to, work, &r->tally);
    for (int64_t k = T - 1; singly && k >= 0 && !r->rc; --k)
        r->rc = kernels->smooth(s, k, k + 1, &state, &to, &back, work, &r->tally);
    for (int i = 0; i < 3 && !singly && !r->rc; ++i)
        r->rc = kernels ? kernels->filter(s, cuts[i], cuts[i + 1], &state, &to, work, &r->tally)
                        : KS_T(ks_filter_steps)(s->nx, s, cuts[i], cuts[i + 1], &state, &to, work,
                                                &r->tally);
    for (int i = 2; i >= 0 && !singly && !r->rc; --i)
        r->rc = kernels ? kernels->smooth(s, cuts[i], cuts[i + 1], &state, &to, &back, work,
                                          &r->tally)
                        : KS_T(ks_smooth_steps)(s->nx, s, cuts[i], cuts[i + 1], &state, &to, &back,
                                                work, &r->tally);
    ks_flush_end(mode);
    free(C);
    free(x);
    free(work);
}

/** A model's rows in memory of just their size, the first number off any alignment. */
static ks_rows KS_T(rows_of)(const golden *g, const golden_input *in, int64_t block,
                             KS_NUM **memory)
{
    const int64_t rows = in->step_stride ? g->T : 1;
    *memory = (KS_NUM *)zeroed((size_t)(rows * block) + 1, sizeof(KS_NUM));
    for (int64_t i = 0; in->f64 && i < rows * block; ++i) (*memory)[1 + i] = (KS_NUM)in->f64[i];
    const ks_rows view = { (const char *)(*memory + 1),
                           in->step_stride * (int64_t)sizeof(KS_NUM) };
    return view;
}

static ks_series KS_T(series_of)(const golden *g, KS_NUM *memory[9])
{
    ks_series s = { 0 };
    const int64_t nx = g->nx, ny = g->ny;
    s.nx = g->nx;
    s.ny = g->ny;
    s.prior_x1 = g->prior == KS_PRIOR_X1;
    s.steps = g->T;
    s.F = KS_T(rows_of)(g, &g->F, nx * nx, &memory[0]);
    s.Q = KS_T(rows_of)(g, &g->Q, nx * nx, &memory[1]);
    s.u = KS_T(rows_of)(g, &g->u, nx, &memory[2]);
    s.H = KS_T(rows_of)(g, &g->H, ny * nx, &memory[3]);
    s.R = KS_T(rows_of)(g, &g->R, ny * ny, &memory[4]);
    s.d = KS_T(rows_of)(g, &g->d, ny, &memory[5]);
    s.y = KS_T(rows_of)(g, &g->y, ny, &memory[6]);
    s.m0 = KS_T(rows_of)(g, &g->m0, nx, &memory[7]).base;
    s.P0 = KS_T(rows_of)(g, &g->P0, nx * nx, &memory[8]).base;
    return s;
}

/** Row k of two sinks: entries i of `size` differ by less than bound sd_i; sd from the diagonals of the
 *  expected covariance, or 1 where there is none. */
static void KS_T(same_row)(const ks_series *s, const char *what, int64_t k, int64_t n, int square, ks_sink got,
                           ks_sink expected, ks_sink cov, double bound)
{
    const KS_NUM *a = (const KS_NUM *)ks_slot_of(got, k), *b = (const KS_NUM *)ks_slot_of(expected, k);
    const KS_NUM *P = (const KS_NUM *)ks_slot_of(cov, k);
    const int64_t size = square ? n * n : n;
    for (int64_t i = 0; i < size; ++i) {
        if (b[i] != b[i] && a[i] != a[i]) continue;
        double sd = sqrt((double)P[i % n * (n + 1)]);
        if (square) sd *= sqrt((double)P[i / n * (n + 1)]);
        if (sd != sd) sd = 1;
        if (!(fabs((double)a[i] - (double)b[i]) <= bound * sd))
            fail_msg("(%d, %d) %s[%lld][%lld]: %.17g, not %.17g, sd %.3g", s->nx, s->ny, what,
                     (long long)k, (long long)i, (double)a[i], (double)b[i], sd);
        if (square && a[i] != a[i % n * n + i / n] && what[0] != 'l')
            fail_msg("(%d, %d) %s[%lld] is not symmetric", s->nx, s->ny, what, (long long)k);
    }
    if (a[size] != 0) fail_msg("%s[%lld]: written behind its end", what, (long long)k);
}

static void KS_T(same_results)(const ks_series *s, const KS_T(results) *a, const KS_T(results) *b)
{
    const int64_t nx = s->nx, ny = s->ny;
    const double bound = sizeof(KS_NUM) == sizeof(double) ? 1e-11 : 1e-3;
    assert_int_equal(a->rc, 0);
    assert_int_equal(b->rc, 0);
    assert_int_equal(a->tally.missing, b->tally.missing);
    assert_int_equal(a->tally.ordinary, b->tally.ordinary);
    assert_int_equal(a->tally.array, b->tally.array);
    for (int64_t k = 0; k < s->steps; ++k) {
        KS_T(same_row)(s, "predicted_mean", k, nx, 0, a->predicted_mean, b->predicted_mean,
                       b->predicted_cov, bound);
        KS_T(same_row)(s, "predicted_cov", k, nx, 1, a->predicted_cov, b->predicted_cov,
                       b->predicted_cov, bound);
        KS_T(same_row)(s, "filtered_mean", k, nx, 0, a->filtered_mean, b->filtered_mean,
                       b->filtered_cov, bound);
        KS_T(same_row)(s, "filtered_cov", k, nx, 1, a->filtered_cov, b->filtered_cov,
                       b->filtered_cov, bound);
        KS_T(same_row)(s, "innovation", k, ny, 0, a->innovation, b->innovation, b->innovation_cov,
                       bound);
        KS_T(same_row)(s, "innovation_cov", k, ny, 1, a->innovation_cov, b->innovation_cov,
                       b->innovation_cov, bound);
        KS_T(same_row)(s, "smoothed_mean", k, nx, 0, a->smoothed_mean, b->smoothed_mean,
                       b->smoothed_cov, bound);
        KS_T(same_row)(s, "smoothed_cov", k, nx, 1, a->smoothed_cov, b->smoothed_cov,
                       b->smoothed_cov, bound);
        if (k > 0)
            KS_T(same_row)(s, "lag_one_cov", k, nx, 1, a->lag_one_cov, b->lag_one_cov,
                           b->smoothed_cov, bound);
        const double scale = 1 + fabs(b->terms[k]);
        if (!(fabs(a->terms[k] - b->terms[k]) <= 100 * bound * scale))
            fail_msg("(%d, %d) loglik[%lld]: %.17g, not %.17g", s->nx, s->ny, (long long)k,
                     a->terms[k], b->terms[k]);
    }
}

/** Every tier comes to what the plain text does. */
static void KS_T(tiers_agree)(const golden *g)
{
    const ks_precision precision = sizeof(KS_NUM) == sizeof(double) ? KS_F64 : KS_F32;
    KS_NUM *memory[9];
    const ks_series s = KS_T(series_of)(g, memory);
    KS_T(results) plain, fast;
    KS_T(run_ranges)(NULL, &s, 0, &plain);
    assert_true(plain.tally.ordinary > STEPS);
    for (int tier = 0; tier < 3; ++tier) {
        const ks_kernels *kernels = kernels_of_tier(precision, tier, s.nx, s.ny);
        if (!kernels) continue;
        KS_T(run_ranges)(kernels, &s, 0, &fast);
        KS_T(same_results)(&s, &fast, &plain);
        free(fast.memory);
    }
    free(plain.memory);
    for (int i = 0; i < 9; ++i) free(memory[i]);
}

static void KS_T(ranges_agree)(void **state)
{
    (void)state;
    static const unsigned flags[] = { MISSING, VARIES_ALL | HAS_OFFSETS,
                                      VARIES_ALL | HAS_OFFSETS | MISSING,
                                      VARIES_H | VARIES_Q | MISSING, VARIES_R | MISSING };
    for (size_t c = 0; c < sizeof sizes / sizeof sizes[0]; ++c)
        for (int f = 0; f < 5; ++f) {
            golden *g = model_random((model_spec){ 170 + c, STEPS, 1, sizes[c][0], sizes[c][1],
                                                   f % 2 ? KS_PRIOR_X1 : KS_PRIOR_X0, flags[f] });
            KS_T(tiers_agree)(g);
            golden_free(g);
        }
}

/** Some states without noise, the last of all among them, and a prior that is certain of some or of all but two: what stands behind
 *  the last state of a padded row must not look like one. */
static void KS_T(singular_models_agree)(void **state)
{
    (void)state;
    static const int some[][2] = { { 5, 2 },  { 7, 3 },  { 9, 4 },  { 9, 7 },  { 10, 3 }, { 10, 5 },
                                   { 11, 1 }, { 11, 5 }, { 11, 8 }, { 12, 5 }, { 13, 5 }, { 15, 7 } };
    for (size_t c = 0; c < sizeof some / sizeof some[0]; ++c)
        for (int f = 0; f < 4; ++f) {
            const int nx = some[c][0], ny = some[c][1];
            golden *g = model_random((model_spec){ 190 + c, STEPS, 1, nx, ny, f % 2 ? KS_PRIOR_X1 : KS_PRIOR_X0,
                                                   (f / 2 ? VARIES_ALL | MISSING : HAS_OFFSETS) });
            for (int k = 0; k < (f / 2 ? STEPS : 1); ++k) {
                double *Q = model_block(&g->Q, 0, k);
                for (int i = 0; i < nx * nx; ++i)
                    if (i / nx == nx - 1 || i % nx == nx - 1 || i / nx == 2 || i % nx == 2) Q[i] = 0;
            }
            double *P0 = model_block(&g->P0, 0, 0);
            for (int i = 0; i < nx * nx; ++i)
                if (f / 2 ? i / nx > 1 || i % nx > 1 : i / nx == nx - 1 || i % nx == nx - 1) P0[i] = 0;
            KS_T(tiers_agree)(g);
            golden_free(g);
        }
}

/** The same step, entry, array and kind of fault. */
static void KS_T(faults_agree)(void **state)
{
    (void)state;
    const ks_precision precision = sizeof(KS_NUM) == sizeof(double) ? KS_F64 : KS_F32;
    for (size_t c = 0; c < sizeof sizes / sizeof sizes[0]; ++c)
        for (int fault = 0; fault < 3; ++fault) {
            const int nx = sizes[c][0], ny = sizes[c][1], step = 37;
            golden *g = model_random((model_spec){ 210 + c, STEPS, 1, nx, ny, KS_PRIOR_X0,
                                                   VARIES_ALL | HAS_OFFSETS });
            if (fault == 0) { /* an infinite entry */
                model_block(&g->y, 0, step)[ny - 1] = (double)INFINITY;
            } else if (fault == 1) { /* the last entry repeats the first, both exact */
                double *H = model_block(&g->H, 0, step), *R = model_block(&g->R, 0, step);
                for (int i = 0; i < ny * ny; ++i) R[i] = i / ny == i % ny ? R[i] : 0;
                R[0] = R[ny * ny - 1] = 0;
                for (int i = 0; i < nx; ++i) H[(ny - 1) * nx + i] = ny > 1 ? H[i] : 0;
            } else { /* a mean that overflows */
                model_block(&g->u, 0, step)[nx - 1] = (double)INFINITY;
            }
            KS_NUM *memory[9];
            const ks_series s = KS_T(series_of)(g, memory);
            KS_T(results) plain, fast;
            KS_T(run_ranges)(NULL, &s, 0, &plain);
            assert_int_equal(plain.rc, -1);
            assert_int_equal(plain.tally.bad_step, step);
            for (int tier = 0; tier < 3; ++tier) {
                const ks_kernels *kernels = kernels_of_tier(precision, tier, s.nx, s.ny);
                if (!kernels) continue;
                KS_T(run_ranges)(kernels, &s, 0, &fast);
                assert_int_equal(fast.rc, -1);
                assert_int_equal(fast.tally.bad_step, plain.tally.bad_step);
                assert_int_equal(fast.tally.bad_row, plain.tally.bad_row);
                assert_int_equal(fast.tally.bad_array, plain.tally.bad_array);
                assert_int_equal(fast.tally.fault, plain.tally.fault);
                free(fast.memory);
            }
            free(plain.memory);
            for (int i = 0; i < 9; ++i) free(memory[i]);
            golden_free(g);
        }
}

/** A constant model, whose covariance steps are remembered, has the bits of ranges of single steps, in which nothing is,
 *  with rows missing on the way; where nothing is held those of the same model given step by step, else its results. */
static void KS_T(memory_changes_no_bit)(void **state)
{
    (void)state;
    static const int some[][2] = { { 2, 1 }, { 3, 2 },  { 4, 1 }, { 4, 2 }, { 4, 3 },
                                   { 4, 4 }, { 4, 5 }, { 6, 3 }, { 7, 2 }, { 8, 4 },
                                   { 9, 3 }, { 10, 5 }, { 11, 5 }, { 12, 6 }, { 17, 5 } };
    const int64_t T = 5 * STEPS;
    const ks_precision precision = sizeof(KS_NUM) == sizeof(double) ? KS_F64 : KS_F32;
    for (size_t c = 0; c < sizeof some / sizeof some[0]; ++c) {
        golden *g = model_random((model_spec){ 250 + c, T, 1, some[c][0], some[c][1], KS_PRIOR_X0,
                                               HAS_OFFSETS });
        for (int64_t k = 0; k < T; k += 83) model_block(&g->y, 0, k)[0] = (double)NAN;
        KS_NUM *memory[9], *repeated[4];
        ks_series s = KS_T(series_of)(g, memory);
        const int64_t nx = g->nx, ny = g->ny, block[4] = { nx * nx, nx * nx, ny * nx, ny * ny };
        ks_series steps = s;
        ks_rows *rows[4] = { &steps.F, &steps.Q, &steps.H, &steps.R };
        for (int a = 0; a < 4; ++a) {
            repeated[a] = (KS_NUM *)zeroed((size_t)(T * block[a]), sizeof(KS_NUM));
            for (int64_t k = 0; k < T; ++k)
                memcpy(repeated[a] + k * block[a], rows[a]->base, (size_t)block[a] * sizeof(KS_NUM));
            rows[a]->base = (const char *)repeated[a];
            rows[a]->stride = block[a] * (int64_t)sizeof(KS_NUM);
        }
        for (int tier = 0; tier < 3; ++tier) {
            const ks_kernels *kernels = kernels_of_tier(precision, tier, s.nx, s.ny);
            if (!kernels) continue;
            KS_T(results) once, again, other;
            KS_T(run_ranges)(kernels, &s, 0, &once);
            KS_T(run_ranges)(kernels, &s, 1, &again);
            KS_T(run_ranges)(kernels, &steps, 0, &other);
            assert_int_equal(once.rc, 0);
            KS_T(same_results)(&s, &once, &other);
            const int64_t numbers = 1 + T * (5 * nx * nx + 4 * nx + ny * ny + ny + 11);
            if (memcmp(once.memory, again.memory, (size_t)numbers * sizeof(KS_NUM)) ||
                memcmp(once.terms, again.terms, (size_t)T * sizeof(double)))
                fail_msg("(%d, %d), tier %d: other bits step by step", g->nx, g->ny, tier);
            free(once.memory);
            for (int word = KS_STEADY_STATE_REPEAT; word <= KS_STEADY_STATE_COMPUTE; ++word) {
                ks_series plain = s;
                plain.steady_state = (ks_steady_state)word;
                KS_T(run_ranges)(kernels, &plain, 0, &once);
                assert_int_equal(once.rc, 0);
                if (memcmp(once.memory, other.memory, (size_t)numbers * sizeof(KS_NUM)) ||
                    memcmp(once.terms, other.terms, (size_t)T * sizeof(double)))
                    fail_msg("(%d, %d), tier %d: other bits than given step by step with %s", g->nx, g->ny, tier,
                             ks_steady_state_name(plain.steady_state));
                free(once.memory);
            }
            free(again.memory);
            free(other.memory);
        }
        for (int a = 0; a < 4; ++a) free(repeated[a]);
        for (int i = 0; i < 9; ++i) free(memory[i]);
        golden_free(g);
    }
}
