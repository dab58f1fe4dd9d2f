/* batch_rows_text.h -- between the arrays of several series and packs; see num_f64x4.h.
 *
 * In memory the numbers of one series stand together; in packs the same number of all series does.
 * Whole vectors are read and written and turned in registers. */

#define KS_EVERY ((1u << KS_LANES) - 1)

/* Vectors of consecutive numbers of one series, at any address. */
typedef KS_NUM KS_T(ks_line) __attribute__((aligned(sizeof(KS_ONE)), may_alias));

/** `v[i]` <- number i of every lane, i < n. */
KS_HD_COLD void KS_T(ks_gather)(int n, const char *const *from, KS_NUM *v)
{
    for (int i = 0; n < KS_LANES && i < n; ++i) {
        KS_NUM t = KS_LIT(0);
        for (int l = 0; l < KS_LANES; ++l) t[l] = ((const KS_ONE *)(const void *)from[l])[i];
        v[i] = t;
    }
    /* The last block may take some numbers a second time. */
    for (int i = 0; n >= KS_LANES && i < n; i += KS_LANES) {
        const int at = i + KS_LANES <= n ? i : n - KS_LANES;
        KS_NUM t[KS_LANES];
        for (int l = 0; l < KS_LANES; ++l)
            t[l] = *(const KS_T(ks_line) *)(const void *)(from[l] + at * (int)sizeof(KS_ONE));
        KS_TURN(t);
        for (int l = 0; l < KS_LANES; ++l) v[at + l] = t[l];
    }
}

/** Number i of every lane <- `v[i]`, i < n. */
KS_HD_COLD void KS_T(ks_scatter)(int n, const KS_NUM *v, char *const *to)
{
    for (int i = 0; n < KS_LANES && i < n; ++i)
        for (int l = 0; l < KS_LANES; ++l)
            ((KS_ONE *)(void *)to[l])[i] = ((const KS_ONE *)&v[i])[l];
    for (int i = 0; n >= KS_LANES && i < n; i += KS_LANES) {
        const int at = i + KS_LANES <= n ? i : n - KS_LANES;
        KS_NUM t[KS_LANES];
        for (int l = 0; l < KS_LANES; ++l) t[l] = v[at + l];
        KS_TURN(t);
        for (int l = 0; l < KS_LANES; ++l)
            *(KS_T(ks_line) *)(void *)(to[l] + at * (int)sizeof(KS_ONE)) = t[l];
    }
}

/** Lane l of n packs to and from contiguous numbers. */
KS_HD_COLD void KS_T(ks_take_lane)(int n, int l, const KS_NUM *v, KS_ONE *to)
{
    for (int i = 0; i < n; ++i) to[i] = v[i][l];
}

KS_HD_COLD void KS_T(ks_give_lane)(int n, int l, const KS_ONE *from, KS_NUM *v)
{
    for (int i = 0; i < n; ++i) v[i][l] = from[i];
}

/** An input of all lanes: row k of lane l stands k strides from base[l]. */
typedef struct KS_T(ks_stream) {
    const char *base[KS_LANES];
    int64_t stride;
    int shared; /* one array serves all lanes */
    int n; /* numbers of a row */
    KS_NUM *row;
} KS_T(ks_stream);

KS_HD_COLD void KS_T(ks_stream_read)(const KS_T(ks_stream) *s, int64_t k)
{
    const int n = s->n;
    if (s->shared) {
        const KS_ONE *from = (const KS_ONE *)(const void *)(s->base[0] + k * s->stride);
        for (int i = 0; i < n; ++i) s->row[i] = KS_LIT(from[i]);
        return;
    }
    const char *from[KS_LANES];
    for (int l = 0; l < KS_LANES; ++l) from[l] = s->base[l] + k * s->stride;
    KS_T(ks_gather)(n, from, s->row);
}

/** Start a stream of rows of n numbers: those of lane 0 are `rows`, those of lane l stand
 *  l * sizeof(ks_series) bytes on. What does not vary is read here, where it is there at all. */
KS_HD_COLD void KS_T(ks_stream_start)(int n, const ks_rows *rows, KS_NUM *row,
                                 KS_T(ks_stream) *s)
{
    s->stride = rows->stride;
    s->shared = 1;
    s->n = n;
    s->row = row;
    for (int l = 0; l < KS_LANES; ++l) {
        const ks_rows *own =
            (const ks_rows *)(const void *)((const char *)rows + l * (int)sizeof(ks_series));
        s->base[l] = own->base;
        s->shared &= own->base == rows->base;
    }
    if (!s->stride && rows->base) KS_T(ks_stream_read)(s, 0);
}

/** Row k, as packs. */
KS_HD const KS_NUM *KS_T(ks_stream_row)(const KS_T(ks_stream) *s, int64_t k)
{
    if (s->stride) KS_T(ks_stream_read)(s, k);
    return s->row;
}

/** Where row k of an output of all lanes goes: that of lane 0 is `sink`, that of lane l stands
 *  l * `apart` bytes on. Lanes not in `lanes` write to `nowhere`. */
KS_HD void KS_T(ks_slots)(const ks_sink *sink, size_t apart, int64_t k, unsigned lanes,
                          KS_NUM *nowhere, char **to)
{
    for (int l = 0; l < KS_LANES; ++l) {
        const char *at = (const char *)sink + (size_t)l * apart;
        const ks_sink *own = (const ks_sink *)(const void *)at;
        to[l] = lanes >> l & 1 ? (char *)ks_slot_of(*own, k) : (char *)nowhere;
    }
}

/** n packs to row k of an output of the lanes in `lanes`, where it is wanted. */
KS_HD_COLD void KS_T(ks_put_rows)(int n, const KS_NUM *v, const ks_sink *sink, size_t apart,
                                  int64_t k, unsigned lanes, KS_NUM *nowhere)
{
    if (!sink->base) return;
    char *to[KS_LANES];
    KS_T(ks_slots)(sink, apart, k, lanes, nowhere, to);
    KS_T(ks_scatter)(n, v, to);
}

/** The diagonal of P (nx, nx) likewise; W: nx packs. */
KS_HD_COLD void KS_T(ks_put_diagonal)(int nx, const KS_NUM *P, const ks_sink *sink, size_t apart,
                                 int64_t k, unsigned lanes, KS_NUM *nowhere, KS_NUM *W)
{
    if (!sink->base) return;
    for (int i = 0; i < nx; ++i) W[i] = P[i * nx + i];
    KS_T(ks_put_rows)(nx, W, sink, apart, k, lanes, nowhere);
}
