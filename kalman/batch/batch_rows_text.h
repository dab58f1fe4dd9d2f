/* batch_rows_text.h -- move rows between the arrays of several series and packs; see lanes_text.h.
 *
 * Rows of several steps are read together, array by array, and results are written in the same way. Reading all arrays
 * of all series step by step would touch more streams of memory at once than a processor prefetches. */

/** An input of all lanes. Row k of lane l is k strides behind base[l]. */
typedef struct KS_T(ks_stream) {
    const char *base[KS_LANES];
    int64_t stride;
    int shared; /* one array serves all lanes */
    int n; /* numbers of a row */
    int64_t first; /* the row at the beginning of `rows` */
    KS_NUM *rows;
} KS_T(ks_stream);

/** Prefetch bytes that will be read soon. The processor prefetches long rows by itself. */
KS_HD void KS_T(ks_expect)(const char *at, int64_t bytes, int64_t row_bytes)
{
    for (int64_t i = 0; row_bytes <= 256 && i < bytes; i += 64) __builtin_prefetch(at + i, 1);
}

/** Read rows k0 .. k1 - 1, at most as many as there is room for. Prefetch as many rows ahead of them (ahead = 1) or
 *  before them (-1). */
KS_HD_COLD void KS_T(ks_stream_read)(KS_T(ks_stream) *s, int64_t k0, int64_t k1, int ahead)
{
    const int n = s->n, bytes = n * (int)sizeof(KS_ONE), together = s->stride == bytes;
    KS_NUM *to = s->rows;
    s->first = k0;
    if (s->shared) {
        for (int64_t k = k0; k < k1; ++k) {
            const KS_ONE *from = (const KS_ONE *)(const void *)(s->base[0] + k * s->stride);
            for (int i = 0; i < n; ++i) *to++ = KS_LIT(from[i]);
        }
        return;
    }
    for (int64_t k = k0; k < k1; k += together ? k1 - k0 : 1) {
        const int rows = together ? (int)(k1 - k0) : 1;
        const char *from[KS_LANES];
        for (int l = 0; l < KS_LANES; ++l) {
            from[l] = s->base[l] + k * s->stride;
            KS_T(ks_expect)(from[l] + ahead * (k1 - k0) * s->stride, rows * bytes, bytes);
        }
        KS_T(ks_gather)(rows * n, from, to);
        to += rows * n;
    }
}

/** Start a stream of rows of n numbers. `rows` are those of lane 0; those of lane l are l * sizeof(ks_series) bytes
 *  behind it. An array that does not vary is read here, if it exists. */
KS_HD_COLD void KS_T(ks_stream_start)(int n, const ks_rows *rows, KS_NUM *memory,
                                 KS_T(ks_stream) *s)
{
    s->stride = rows->stride;
    s->shared = 1;
    s->n = n;
    s->rows = memory;
    for (int l = 0; l < KS_LANES; ++l) {
        const ks_rows *own =
            (const ks_rows *)(const void *)((const char *)rows + l * (int)sizeof(ks_series));
        s->base[l] = own->base;
        s->shared &= own->base == rows->base;
    }
    if (!s->stride && rows->base) KS_T(ks_stream_read)(s, 0, 1, 0);
}

/** Return row k as packs. If rows vary, it must be one of those read last. */
KS_HD const KS_NUM *KS_T(ks_stream_row)(const KS_T(ks_stream) *s, int64_t k)
{
    return s->stride ? s->rows + (k - s->first) * s->n : s->rows;
}

/** Return where row k of an output goes in each lane. `sink` is that of lane 0; that of lane l is l * `apart` bytes
 *  behind it. Lanes without an output of their own share that of lane 0. */
KS_HD void KS_T(ks_slots)(const ks_sink *sink, size_t apart, int64_t k, char **to)
{
    for (int l = 0; l < KS_LANES; ++l) {
        const char *at = (const char *)sink + (size_t)l * apart;
        const ks_sink *own = (const ks_sink *)(const void *)at;
        to[l] = (char *)ks_slot_of(own->base ? *own : *sink, k);
    }
}

/** Write n packs to row k of an output, if it is wanted, for the lanes in `lanes`. */
KS_HD_COLD void KS_T(ks_put_rows)(int n, const KS_NUM *v, const ks_sink *sink, size_t apart,
                                  int64_t k, unsigned lanes)
{
    if (!sink->base) return;
    char *to[KS_LANES];
    KS_T(ks_slots)(sink, apart, k, to);
    KS_T(ks_scatter)(n, v, lanes, to);
}

/** The same for the diagonal of P (nx, nx). W: nx packs. */
KS_HD_COLD void KS_T(ks_put_diagonal)(int nx, const KS_NUM *P, const ks_sink *sink, size_t apart,
                                 int64_t k, unsigned lanes, KS_NUM *W)
{
    if (!sink->base) return;
    for (int i = 0; i < nx; ++i) W[i] = P[i * nx + i];
    KS_T(ks_put_rows)(nx, W, sink, apart, k, lanes);
}

/** Write rows k0 .. k1 - 1 of n packs each to an output, if it is wanted; for row k, the lanes in lanes[k - k0]. */
KS_HD_COLD void KS_T(ks_put_steps)(int n, const KS_NUM *v, const ks_sink *sink, size_t apart, int64_t k0,
                                   int64_t k1, const unsigned *lanes)
{
    const int together = sink->stride == n * (int64_t)sizeof(KS_ONE);
    if (!sink->base) return;
    for (int64_t k = k0; k < k1;) {
        int64_t end = k + 1;
        while (together && end < k1 && lanes[end - k0] == lanes[k - k0]) ++end;
        if (lanes[k - k0])
            KS_T(ks_put_rows)(n * (int)(end - k), v + (k - k0) * n, sink, apart, k, lanes[k - k0]);
        k = end;
    }
}

/** Read rows k0 .. k1 - 1 of n numbers from an output into packs, and prefetch as many rows before them. */
KS_HD_COLD void KS_T(ks_get_steps)(int n, const ks_sink *sink, size_t apart, int64_t k0, int64_t k1,
                                   KS_NUM *v)
{
    const int64_t bytes = n * (int64_t)sizeof(KS_ONE);
    const int together = sink->stride == bytes;
    for (int64_t k = k0; k < k1; k += together ? k1 - k0 : 1) {
        const int rows = together ? (int)(k1 - k0) : 1;
        char *at[KS_LANES];
        const char *from[KS_LANES];
        KS_T(ks_slots)(sink, apart, k, at);
        for (int l = 0; l < KS_LANES; ++l) {
            from[l] = at[l];
            KS_T(ks_expect)(from[l] - (k1 - k0) * sink->stride, rows * bytes, bytes);
        }
        KS_T(ks_gather)(rows * n, from, v + (k - k0) * n);
    }
}
