/* four_steps_text.h -- matrices of four steps side by side, one step in each lane; see num_f64.h and tile_text.h. For
 * plain C on the CPU. */

/** Load the upper triangles of four matrices (nx, nx), rows ld apart: entry[i][c] for c >= i. nx is a literal of at
 *  most 8. ld is nx, which is at least 4 then, or more if rows are padded. */
KS_HD void KS_T(ks_four_uppers)(int nx, int ld, const KS_NUM *const matrix[4], KS_T(ks_quad) entry[8][8])
{
    const int last = ld > nx ? 4 : nx - 4; /* without padding the last four numbers overlap those before */
#pragma GCC unroll 8
    for (int i = 0; i < nx; ++i)
#pragma GCC unroll 2
        for (int c = i < last ? 0 : last; c < nx; c += c < last ? last : nx) {
            KS_T(ks_quad) t[4];
#pragma GCC unroll 4
            for (int l = 0; l < 4; ++l) t[l] = KS_LOAD4(matrix[l] + i * ld + c);
            KS_TRANSPOSE4(t);
#pragma GCC unroll 4
            for (int l = 0; l < 4; ++l)
                if (c + l < nx) entry[i][c + l] = t[l];
        }
}

/** L D Lᵀ of four matrices, nx a literal of up to 8, from their upper triangles: u <- D Lᵀ, inverse <- 1 / D. `good`
 *  becomes false in lanes where a pivot is not positive, or at most `ratio` of its diagonal entry, or out of range; for
 *  the latter see ks_second_pivot(). */
#define KS_FOUR_PIVOTS(nx, ratio, u, inverse, good)                                         \
    do {                                                                                    \
        _Pragma("GCC unroll 8") for (int i_ = 0; i_ < (nx); ++i_)                           \
        {                                                                                   \
            const KS_T(ks_quad) diagonal_ = u[i_][i_], none_ = { 0 };                       \
            _Pragma("GCC unroll 8") for (int j_ = 0; j_ < i_; ++j_)                         \
            {                                                                               \
                const KS_T(ks_quad) l_ = u[j_][i_] * inverse[j_];                           \
                _Pragma("GCC unroll 8") for (int c_ = i_; c_ < (nx); ++c_)                  \
                    if (c_ > i_ || j_ + 1 < i_ || !KS_PAIRS_WITH(i_))                       \
                        u[i_][c_] = u[i_][c_] - l_ * u[j_][c_];                             \
            }                                                                               \
            if (KS_PAIRS_WITH(i_)) { /* see ks_second_pivot() */                            \
                const KS_T(ks_quad) a_ = u[i_ - 1][i_ - 1], b_ = u[i_ - 1][i_];             \
                const KS_T(ks_quad) det_ = u[i_][i_] * a_ - b_ * b_;                        \
                const KS_T(ks_quad) least_ = none_ + KS_LIT(KS_LEAST_DETERMINANT);          \
                u[i_][i_] = det_ * inverse[i_ - 1];                                         \
                inverse[i_] = a_ / det_;                                                    \
                good &= (det_ > least_) & (inverse[i_] > none_);                            \
            } else {                                                                        \
                inverse[i_] = KS_LIT(1) / u[i_][i_];                                        \
            }                                                                               \
            good &= (u[i_][i_] > KS_LIT(ratio) * diagonal_) & (u[i_][i_] > none_);          \
        }                                                                                   \
    } while (0)

/** Transpose four lanes to four matrices that are `size` numbers apart; rows have n numbers. Writes entries
 *  at .. at + 3. */
KS_HD void KS_T(ks_four_apart)(int at, int64_t size, KS_T(ks_quad) t[4], KS_NUM *to)
{
    KS_TRANSPOSE4(t);
#pragma GCC unroll 4
    for (int l = 0; l < 4; ++l) KS_STORE4(to + l * size + at, t[l]);
}
