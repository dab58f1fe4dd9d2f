/* map_segment_text.h -- the MAP problem of a range of steps, eliminated except for its ends; see map_text.h,
 * map_terms_text.h and num_f64.h.
 *
 * After eliminating the states between x[i] and x[j], the information of steps i + 1 .. j on x[i] and x[j] is
 *
 *     J = | a  cᵀ |   h = | p |      one step k:  a = F[k]ᵀ Q[k]⁻¹ F[k],  c = -Q[k]⁻¹ F[k],
 *         | c  b  |       | q |                   b = Q[k]⁻¹ + H[k]ᵀ R[k]⁻¹ H[k].
 *
 * Consecutive ranges are combined by eliminating the state at which they meet. This operation is associative. The first
 * range begins with the prior; its a, c and p are zero. */

/** A range of steps, or a single step. */
typedef struct KS_T(ks_map_range) {
    KS_NUM *a, *c, *b, *p, *q; /* (n, n) three times, (n) twice */
} KS_T(ks_map_range);

/** Scratch of an elimination. */
typedef struct KS_T(ks_map_bench) {
    KS_NUM *M, *X, *Y, *W;          /* (n, n): the factor; terms divided by it */
    KS_NUM *inverse_d, *r, *t;      /* (n) */
} KS_T(ks_map_bench);

KS_HD KS_T(ks_map_range) KS_T(ks_map_range_at)(int n, KS_NUM *numbers)
{
    KS_T(ks_map_range) e;
    e.a = numbers;
    e.c = e.a + n * n;
    e.b = e.c + n * n;
    e.p = e.b + n * n;
    e.q = e.p + n;
    return e;
}

/** Factor the block b + a of the state at which two ranges meet to w->M, and store its right-hand side q + p in w->r.
 *  Returns true if the block is positive definite. */
KS_HD KS_MASK KS_T(ks_map_meet_at)(int n, const KS_NUM *b, const KS_NUM *a, const KS_NUM *q,
                                   const KS_NUM *p, const KS_T(ks_map_bench) *w)
{
    KS_EACH(i, n * n) w->M[i] = b[i] + a[i];
    KS_EACH(i, n) w->r[i] = q[i] + p[i];
    return KS_T(ks_ldl)(n, 0, w->M, w->inverse_d);
}

/** Eliminate the state of w->M and w->r, at which range `to` meets `next`; `to` becomes both ranges. whole: update a, c
 *  and p of the left end, too; else only b and q. */
KS_HD void KS_T(ks_map_pass_over)(int n, int whole, const KS_T(ks_map_range) *next,
                                  const KS_T(ks_map_range) *to, const KS_T(ks_map_bench) *w)
{
    KS_T(ks_copy)(n, w->r, w->t);
    KS_T(ks_ldl_forward)(n, 1, w->M, w->t);
    KS_T(ks_transpose)(n, n, next->c, w->Y);
    KS_T(ks_ldl_forward)(n, n, w->M, w->Y);
    KS_T(ks_scale_rows)(n, n, w->Y, w->inverse_d, w->W);
    KS_T(ks_copy)(n * n, next->b, to->b);
    KS_T(ks_mtm_sub)(n, n, n, w->W, w->Y, to->b);
    KS_T(ks_copy)(n, next->q, to->q);
    KS_T(ks_mtv_sub)(n, n, w->W, w->t, to->q);
    if (!whole) return;
    KS_T(ks_copy)(n * n, to->c, w->X);
    KS_T(ks_ldl_forward)(n, n, w->M, w->X);
    KS_T(ks_map_zero)(n * n, to->c);
    KS_T(ks_mtm_sub)(n, n, n, w->W, w->X, to->c);
    KS_T(ks_scale_rows)(n, n, w->X, w->inverse_d, w->W);
    KS_T(ks_mtm_sub)(n, n, n, w->W, w->X, to->a);
    KS_T(ks_mtv_sub)(n, n, w->W, w->t, to->p);
}

/** The reverse direction: replace a and p of all that follows a range's last state by those of all that follows its
 *  first. Returns true if the block of the state between is positive definite. */
KS_HD KS_MASK KS_T(ks_map_pass_back)(int n, const KS_T(ks_map_range) *range, KS_NUM *a, KS_NUM *p,
                                     const KS_T(ks_map_bench) *w)
{
    const KS_MASK good = KS_T(ks_map_meet_at)(n, range->b, a, range->q, p, w);
    KS_T(ks_ldl_forward)(n, 1, w->M, w->r);
    KS_T(ks_copy)(n * n, range->c, w->X);
    KS_T(ks_ldl_forward)(n, n, w->M, w->X);
    KS_T(ks_scale_rows)(n, n, w->X, w->inverse_d, w->W);
    KS_T(ks_copy)(n * n, range->a, a);
    KS_T(ks_mtm_sub)(n, n, n, w->W, w->X, a);
    KS_T(ks_copy)(n, range->p, p);
    KS_T(ks_mtv_sub)(n, n, w->W, w->r, p);
    return good;
}

/** S <- the inverse of the matrix that w->M factors, symmetric to the bit; x <- S w->r. */
KS_HD void KS_T(ks_map_solve_end)(int n, const KS_T(ks_map_bench) *w, KS_NUM *S, KS_NUM *x)
{
    KS_T(ks_map_unfactor)(n, w->M, w->inverse_d, w->X, S, w->W);
    KS_T(ks_mirror)(n, S);
    KS_T(ks_copy)(n, w->r, x);
    KS_T(ks_ldl_forward)(n, 1, w->M, x);
    KS_T(ks_ldl_backward)(n, 1, w->M, w->inverse_d, x);
}

/** With M and r of state k in w and C = A[k + 1, k]: w->Y <- M⁻¹ Cᵀ and w->W <- w->Y S. S is the covariance of state k
 *  + 1, so -w->W is the covariance of states k and k + 1. */
KS_HD void KS_T(ks_map_gain)(int n, const KS_NUM *C, const KS_NUM *S, const KS_T(ks_map_bench) *w)
{
    KS_T(ks_transpose)(n, n, C, w->Y);
    KS_T(ks_ldl_forward)(n, n, w->M, w->Y);
    KS_T(ks_ldl_backward)(n, n, w->M, w->inverse_d, w->Y);
    KS_T(ks_mm)(n, n, n, w->Y, S, w->W);
}

/** After ks_map_gain(): replace S and x of the next state by those of the state of w->M and w->r. Overwrites w->X, w->Y
 *  and w->r. */
KS_HD void KS_T(ks_map_step_back)(int n, const KS_NUM *C, KS_NUM *S, KS_NUM *x,
                                  const KS_T(ks_map_bench) *w)
{
    KS_T(ks_mtv_sub)(n, n, C, x, w->r);
    KS_T(ks_ldl_forward)(n, 1, w->M, w->r);
    KS_T(ks_ldl_backward)(n, 1, w->M, w->inverse_d, w->r);
    KS_T(ks_copy)(n, w->r, x);
    KS_T(ks_map_zero)(n * n, S);
    KS_T(ks_transpose)(n, n, w->Y, w->X);
    KS_T(ks_mm_add)(n, n, n, w->W, w->X, S);
    KS_T(ks_map_identity)(n, w->X);
    KS_T(ks_ldl_forward)(n, n, w->M, w->X);
    KS_T(ks_scale_rows)(n, n, w->X, w->inverse_d, w->Y);
    KS_T(ks_mtm_add)(n, n, n, w->X, w->Y, S);
    KS_T(ks_mirror)(n, S);
}
