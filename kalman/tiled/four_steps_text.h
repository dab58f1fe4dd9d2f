/* four_steps_text.h -- matrices of four steps side by side, a step to a lane; see num_f64.h and tile_text.h.
 * For plain C on the CPU. */

/** Upper triangles of four matrices (nx, nx), rows ld apart: entry[i][c] for c >= i. nx a literal of up to 8, ld nx from
 *  four on or, padded, more. */
KS_HD void KS_T(ks_four_uppers)(int nx, int ld, const KS_NUM *const matrix[4], KS_T(ks_quad) entry[8][8])
{
    const int last = ld > nx ? 4 : nx - 4; /* where nothing pads it the last four overlap those before */
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

/** Four lanes to four matrices of n numbers a row, size numbers apart: entries at .. at + 3 of row i. */
KS_HD void KS_T(ks_four_apart)(int at, int64_t size, KS_T(ks_quad) t[4], KS_NUM *to)
{
    KS_TRANSPOSE4(t);
#pragma GCC unroll 4
    for (int l = 0; l < 4; ++l) KS_STORE4(to + l * size + at, t[l]);
}
