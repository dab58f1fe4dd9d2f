/* combine_text.h -- the operators of the scans over a rectangle of combines; see element_text.h and combine.h. For
 * scalar numbers; part of kernels_text.h. */

/* Go through a rectangle of combines; see ks_combine_job. */
#define KS_COMBINE_LANES(combine, nx)                                                       \
    for (int64_t l = 0; l < job->lanes; ++l)                                                \
        for (int64_t c = 0; c < job->chain; ++c)                                            \
            combine(nx, (KS_NUM *)(void *)(job->dst + l * job->dst_lane + c * job->dst_chain), \
                    (const KS_NUM *)(const void *)(job->lhs + l * job->lhs_lane +           \
                                                   c * job->lhs_chain),                     \
                    (const KS_NUM *)(const void *)(job->rhs + l * job->rhs_lane +           \
                                                   c * job->rhs_chain),                     \
                    (KS_NUM *)work)

/* With KS_COMBINE few combines are left for scalar code, so it has no literal copies but for one state. */
#ifdef KS_COMBINE
#define KS_TOGETHER(nx) ((nx) >= KS_COMBINE.least_states && (nx) <= KS_COMBINE.most_states)
#define KS_WITH_LITERAL_COMBINE(nx, CALL) switch (nx) { KS_CASES(CALL, 1) default: CALL(nx); break; }
#else
#define KS_WITH_LITERAL_COMBINE KS_WITH_LITERAL_DOUBLE
#endif

KS_HD_COLD size_t KS_T(table_combine_bytes)(int nx)
{
    const size_t alone = (size_t)KS_T(ks_element_scratch)(nx, 1) * sizeof(KS_NUM);
#ifdef KS_COMBINE
    const size_t together = KS_TOGETHER(nx) ? KS_COMBINE.scratch_bytes(nx) : 0;
    return alone > together ? alone : together;
#else
    return alone;
#endif
}

KS_HD_COLD void KS_T(filter_combine_alone)(int nx, const ks_combine_job *job, void *work)
{
    const unsigned mode = ks_flush_begin();
#define CALL(nx) KS_COMBINE_LANES(KS_T(ks_filter_combine), nx)
    KS_WITH_LITERAL_COMBINE(nx, CALL)
#undef CALL
    ks_flush_end(mode);
}

KS_HD_COLD void KS_T(smooth_combine_alone)(int nx, const ks_combine_job *job, void *work)
{
    const unsigned mode = ks_flush_begin();
#define CALL(nx) KS_COMBINE_LANES(KS_T(ks_smooth_combine), nx)
    KS_WITH_LITERAL_COMBINE(nx, CALL)
#undef CALL
    ks_flush_end(mode);
}

KS_HD_COLD void KS_T(table_filter_combine)(int nx, const ks_combine_job *job, void *work)
{
#ifdef KS_COMBINE
    if (KS_TOGETHER(nx)) {
        KS_COMBINE.filter(nx, job, KS_T(filter_combine_alone), work);
        return;
    }
#endif
    KS_T(filter_combine_alone)(nx, job, work);
}

KS_HD_COLD void KS_T(table_smooth_combine)(int nx, const ks_combine_job *job, void *work)
{
#ifdef KS_COMBINE
    if (KS_TOGETHER(nx)) {
        KS_COMBINE.smooth(nx, job, work);
        return;
    }
#endif
    KS_T(smooth_combine_alone)(nx, job, work);
}

#undef KS_WITH_LITERAL_COMBINE
#undef KS_TOGETHER
#undef KS_COMBINE_LANES
