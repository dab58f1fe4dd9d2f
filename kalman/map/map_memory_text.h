/* map_memory_text.h -- the memory that the MAP route keeps from step to step, one for each worker of map_text.h or lane
 * of map_chain_text.h; see num_f64.h.
 *
 * "Rows" are rows of ks_map_ld() numbers, padded with zeros. */

/** What a pass needs of a transition; bits of a literal. */
enum { KS_MAP_INWARDS = 1, KS_MAP_UPWARDS = 2, KS_MAP_OUTWARDS = 4 };

/** The transition into a step, or the prior in its place. */
typedef struct KS_T(ks_map_terms) {
    KS_NUM *LD, *inverse_d; /* L D Lᵀ of the covariance, see ks_ldl() */
    KS_NUM *root;           /* L⁻¹                                    */
    KS_NUM *precision;      /* inverse of the covariance              */
    KS_NUM *coupling;       /* -Q⁻¹ F                                 */
    KS_NUM *carried;        /* Fᵀ Q⁻¹ F                               */
    unsigned known;         /* KS_MAP_CONSTANT_... that are done      */
} KS_T(ks_map_terms);

/** The observation of a step. */
typedef struct KS_T(ks_map_sight) {
    KS_NUM *LD, *inverse_d; /* L D Lᵀ of R                            */
    KS_NUM *scaled;         /* D⁻¹ L⁻¹ H                              */
    KS_NUM *information;    /* Hᵀ R⁻¹ H                               */
    unsigned known;
} KS_T(ks_map_sight);

/** The transition as rows. F_rows and Q_rows are unused where the rows of the series serve themselves. */
typedef struct KS_T(ks_map_link) {
    const KS_NUM *F;
    KS_NUM *F_rows, *Q_rows, *transposed_F;
    KS_NUM *LD, *inverse_d;         /* L D Lᵀ of Q; rows of LD are n numbers apart */
    KS_NUM *root, *transposed_root; /* L⁻¹                                         */
    KS_NUM *precision;              /* Q⁻¹                                         */
    KS_NUM *N, *C;                  /* Q⁻¹ F and its transpose                     */
    KS_NUM *carried;                /* Fᵀ Q⁻¹ F                                    */
    KS_NUM *u, *pu, *cu;            /* u, Q⁻¹ u, Fᵀ Q⁻¹ u                          */
    KS_NUM *scratch;
    ks_evidence pivots;             /* pivots of Q                                 */
    unsigned known;
} KS_T(ks_map_link);

/** The observation as rows. LD is (m, m). */
typedef struct KS_T(ks_map_entries) {
    const KS_NUM *H;
    KS_NUM *H_rows;
    KS_NUM *LD, *inverse_d;         /* L D Lᵀ of R                                 */
    KS_NUM *white, *scaled;         /* L⁻¹ H and D⁻¹ L⁻¹ H                         */
    KS_NUM *K;                      /* R⁻¹ H                                       */
    KS_NUM *own;                    /* Q⁻¹ + Hᵀ R⁻¹ H                              */
    ks_evidence pivots;             /* pivots of R                                 */
    int known, own_known;           /* all, or `own`, is constant and done         */
} KS_T(ks_map_entries);

/** What a lane of map_chain_text.h carries from step to step, as rows. With more than KS_MAP_FEW states M, P and G are
 *  panels; P and G then are the factor of map_wide_text.h. M, P, G, X, S and S_next may point into the memo of repeated
 *  steps. */
typedef struct KS_T(ks_map_chain) {
    KS_NUM *zero, *b, *z, *p;
    const KS_NUM *M;                      /* inwards: what is left to the following step     */
    const KS_NUM *P, *G, *X;
    const KS_NUM *S, *S_next;             /* outwards: of this step, of the following one    */
    KS_NUM *M_room, *P_room, *G_room, *X_room, *S_room[2];
    KS_NUM *x, *x_next;
    KS_NUM *q, *white, *slope;            /* of this step                                    */
    KS_NUM *pull, *pull_next;             /* Fᵀ q of this transition, of the previous one    */
    KS_NUM *middle_slope, *middle_x, *middle_S;
    ks_map_share share, share_next, middle_share;
    int recalled;                         /* S points into the memo of repeated steps        */
    KS_NUM *remembered;                   /* the memo of repeated steps, see memo_text.h     */
    KS_T(ks_memo) memo;
    ks_evidence pivots[KS_MEMO_SLOTS];    /* of the blocks in its slots                      */
} KS_T(ks_map_chain);

/** Panels of map_wide_text.h, for more than KS_MAP_FEW states. */
typedef struct KS_T(ks_map_room) {
    KS_NUM *pair;                         /* a factor, its coupling, its inverse             */
    KS_NUM *sum;                          /* inverse of a result, as a factor, and its inverse */
    KS_NUM *root, *minus;                 /* the factor of an eliminated step, and minus it  */
    KS_NUM *product;
    KS_NUM *Z, *transposed_Z;             /* inverse of Q's factor, and its transpose        */
    KS_NUM *N, *C, *carried;              /* of the transition                               */
    KS_NUM *own, *own_once;               /* of the observation: constant, of this step only */
    int own_known;
} KS_T(ks_map_room);

typedef struct KS_T(ks_map_memory) {
    KS_T(ks_map_room) room;
    KS_T(ks_map_terms) prior, transition;
    KS_T(ks_map_sight) all, some;         /* every entry present; only some                  */
    KS_T(ks_map_link) prior_link, link;
    KS_T(ks_map_entries) every, present;
    KS_T(ks_map_chain) chain;
    KS_NUM *mean;                         /* mean of the prior of x[0]           */
    KS_NUM *gradient, *diagonal;          /* of the previous step, incomplete    */
    KS_NUM *compact, *v, *work;
} KS_T(ks_map_memory);

KS_HD KS_NUM *KS_T(ks_map_place)(KS_NUM **at, int64_t numbers)
{
    KS_NUM *here = *at;
    *at += numbers;
    return here;
}

KS_HD void KS_T(ks_map_place_terms)(int64_t n, KS_T(ks_map_terms) *t, KS_NUM **at)
{
    t->LD = KS_T(ks_map_place)(at, n * n);
    t->inverse_d = KS_T(ks_map_place)(at, n);
    t->root = KS_T(ks_map_place)(at, n * n);
    t->precision = KS_T(ks_map_place)(at, n * n);
    t->coupling = KS_T(ks_map_place)(at, n * n);
    t->carried = KS_T(ks_map_place)(at, n * n);
    t->known = 0;
}

KS_HD void KS_T(ks_map_place_sight)(int n, int m, KS_T(ks_map_sight) *o, KS_NUM **at)
{
    o->LD = KS_T(ks_map_place)(at, (int64_t)m * m);
    o->inverse_d = KS_T(ks_map_place)(at, m);
    o->scaled = KS_T(ks_map_place)(at, (int64_t)m * n);
    o->information = KS_T(ks_map_place)(at, (int64_t)n * n);
    o->known = 0;
}

KS_HD void KS_T(ks_map_place_link)(int n, KS_T(ks_map_link) *l, KS_NUM **at)
{
    const int64_t ld = KS_T(ks_map_ld)(n), block = ld * ld;
    KS_NUM **matrix[] = { &l->F_rows, &l->Q_rows, &l->transposed_F, &l->root, &l->transposed_root,
                          &l->LD,     &l->precision, &l->N,     &l->C,       &l->carried,
                          &l->scratch };
    KS_NUM **vector[] = { &l->inverse_d, &l->u, &l->pu, &l->cu };
    for (int i = 0; i < 11; ++i) *matrix[i] = KS_T(ks_map_place)(at, block);
    for (int i = 0; i < 4; ++i) *vector[i] = KS_T(ks_map_place)(at, ld);
    l->known = 0;
}

KS_HD void KS_T(ks_map_place_entries)(int n, int m, KS_T(ks_map_entries) *o, KS_NUM **at)
{
    const int64_t ld = KS_T(ks_map_ld)(n), lm = KS_T(ks_map_ld)(m);
    KS_NUM **matrix[] = { &o->H_rows, &o->white, &o->scaled, &o->K };
    for (int i = 0; i < 4; ++i) *matrix[i] = KS_T(ks_map_place)(at, lm * ld);
    o->own = KS_T(ks_map_place)(at, ld * ld);
    o->LD = KS_T(ks_map_place)(at, lm * lm);
    o->inverse_d = KS_T(ks_map_place)(at, lm);
    o->known = o->own_known = 0;
}

/** Return the numbers of a block in the elimination: as rows, or as a panel. */
KS_HD int KS_T(ks_map_block)(int n)
{
    const int ld = KS_T(ks_map_ld)(n);
    return n > KS_MAP_FEW ? KS_T(ks_map_panel)(n) : n * ld;
}

/** Return the numbers of the larger of the two. */
KS_HD int64_t KS_T(ks_map_block_room)(int n)
{
    const int64_t ld = KS_T(ks_map_ld)(n), block = KS_T(ks_map_block)(n);
    return block > ld * ld ? block : ld * ld;
}

/** Return the numbers of a memo, for the larger of both directions, keys and results together. */
KS_HD int64_t KS_T(ks_map_memo_numbers)(int n)
{
    return (2 + 5 * KS_T(ks_memo_slots)(KS_T(ks_map_ld)(n))) * KS_T(ks_map_block_room)(n);
}

/** Panels begin at cache lines. */
KS_HD void KS_T(ks_map_place_room)(int n, KS_T(ks_map_room) *r, KS_NUM **at)
{
    const int64_t panel = n > KS_MAP_FEW ? (KS_T(ks_map_panel)(n) + 7) / 8 * 8 : 0;
    KS_NUM **one[] = { &r->root, &r->minus, &r->product, &r->Z, &r->transposed_Z, &r->N, &r->C,
                       &r->carried, &r->own, &r->own_once };
    /* Panels that are factored together must be adjacent. */
    r->pair = KS_T(ks_map_place)(at, 3 * panel);
    r->sum = KS_T(ks_map_place)(at, 2 * panel);
    for (int i = 0; i < 10; ++i) *one[i] = KS_T(ks_map_place)(at, panel);
    r->own_known = 0;
}

KS_HD void KS_T(ks_map_place_chain)(int n, int m, KS_T(ks_map_chain) *c, KS_NUM **at)
{
    const int64_t ld = KS_T(ks_map_ld)(n);
    KS_NUM **matrix[] = { &c->M_room,    &c->P_room,    &c->G_room,  &c->X_room,
                          &c->S_room[0], &c->S_room[1], &c->middle_S };
    KS_NUM **vector[] = { &c->b,     &c->z,     &c->p,    &c->x,         &c->x_next,       &c->q,
                          &c->white, &c->slope, &c->pull, &c->pull_next, &c->middle_slope,
                          &c->middle_x };
    c->zero = KS_T(ks_map_place)(at, KS_T(ks_map_ld)(n > m ? n : m));
    for (int i = 0; i < 7; ++i) *matrix[i] = KS_T(ks_map_place)(at, KS_T(ks_map_block_room)(n));
    for (int i = 0; i < 12; ++i) *vector[i] = KS_T(ks_map_place)(at, ld);
    c->remembered = KS_T(ks_map_place)(at, KS_T(ks_map_memo_numbers)(n));
    c->M = c->M_room;
    c->S = c->S_room[0];
    c->S_next = c->S_room[1];
    c->share.trace = c->share.inflation = 0;
    c->share_next = c->middle_share = c->share;
    c->memo.slots = c->recalled = 0;
}

/** Lay out a worker's memory at `base`. Return its size in numbers. */
KS_HD int64_t KS_T(ks_map_lay_out)(int nx, int ny, KS_NUM *base, KS_T(ks_map_memory) *w)
{
    KS_NUM *at = base;
    KS_T(ks_map_place_room)(nx, &w->room, &at);
    KS_T(ks_map_place_chain)(nx, ny, &w->chain, &at);
    KS_T(ks_map_place_link)(nx, &w->prior_link, &at);
    KS_T(ks_map_place_link)(nx, &w->link, &at);
    KS_T(ks_map_place_entries)(nx, ny, &w->every, &at);
    KS_T(ks_map_place_entries)(nx, ny, &w->present, &at);
    KS_T(ks_map_place_terms)(nx, &w->prior, &at);
    KS_T(ks_map_place_terms)(nx, &w->transition, &at);
    KS_T(ks_map_place_sight)(nx, ny, &w->all, &at);
    KS_T(ks_map_place_sight)(nx, ny, &w->some, &at);
    w->mean = KS_T(ks_map_place)(&at, nx);
    w->gradient = KS_T(ks_map_place)(&at, nx);
    w->diagonal = KS_T(ks_map_place)(&at, nx);
    w->compact = KS_T(ks_map_place)(&at, (int64_t)ny * nx + (int64_t)ny * ny + 2 * (int64_t)ny);
    w->v = KS_T(ks_map_place)(&at, 2 * (int64_t)KS_T(ks_map_ld)(nx > ny ? nx : ny));
    w->work = KS_T(ks_map_place)(&at, KS_T(ks_step_scratch)(nx, ny) +
                                          (int64_t)(nx + ny) * (nx + ny) + 2 * (int64_t)nx * nx);
    return at - base;
}

/** Return m rows of n numbers as padded rows: in place, or copied to `room` if they need padding or do not stay. */
KS_HD const KS_NUM *KS_T(ks_map_rows_of)(int m, int n, int ld, int stay, const KS_NUM *from,
                                         KS_NUM *room)
{
    if (n == ld && stay) return from;
    KS_T(ks_map_load)(m, n, ld, from, room);
    return room;
}
