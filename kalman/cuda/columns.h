/* columns.h -- device code: a team of KS_COLUMNS threads that hold matrices by columns, see column_smallmat_text.h. It
 * is a row of the block, as in team.h. The includer defines KS_COLUMNS, 8 or 16.
 *
 * The teams of a warp run together: where one calls a function with a barrier, a vote or a shuffle, all do. So each of
 * these is one instruction, without a mask that is known only at run time. A team that has nothing to do goes along
 * with numbers that nobody looks at. */
#ifndef KS_COLUMNS_H
#define KS_COLUMNS_H

#include <string.h>
#include "chunk_kernels.h"
#include "gpu/kernel.h"
#include "hd.h"

/** The column that this thread has, read at this place: kept from the beginning, what depends on it would take more
 *  registers than there are. */
KS_DEVICE int ks_column(void) { return ks_thread_anew(); }

/** Bit j: whether it is true in the team's thread with column j. */
KS_DEVICE unsigned ks_columns_vote(bool own)
{
    return __ballot_sync(0xffffffffu, own) >> (threadIdx.y * KS_COLUMNS % 32) & ((1u << KS_COLUMNS) - 1);
}

/** Whether it is true in every thread of the team. */
KS_DEVICE bool ks_columns_all(bool own) { return ks_columns_vote(own) == (1u << KS_COLUMNS) - 1; }

/** Whether it is true in any thread of the warp. */
KS_DEVICE bool ks_columns_any(bool own) { return __any_sync(0xffffffffu, own) != 0; }

/** Return the number that the thread with column j has. */
template <class Number> KS_DEVICE Number ks_column_from(Number own, int j)
{
    return __shfl_sync(0xffffffffu, own, j, KS_COLUMNS);
}

/** Entry number i of `own`, i known at run time only; other places in registers than literal ones do not exist. */
template <class Number> KS_DEVICE Number ks_column_entry(int count, const Number *own, int i)
{
    Number entry = own[0];
    KS_UNROLL
    for (int e = 1; e < count; ++e) entry = e == i ? own[e] : entry;
    return entry;
}

/** Numbers from one column of m numbers to the next in shared memory: an odd multiple of 16 bytes, so that 8 threads
 *  reach all banks. */
template <class Number> KS_DEVICE int ks_column_apart(int m)
{
    const int piece = 16 / (int)sizeof(Number);
    return ((m + piece - 1) / piece | 1) * piece;
}

/** What a thread moves to or from shared memory at once. */
struct alignas(16) ks_piece { char bytes[16]; };

/** Rooms of a team in shared memory: what it shows, with a number of each thread behind the matrix; the factors of a
 *  matrix, see ks_ldl() of column_smallmat_text.h; matrices for which registers would be too few. */
typedef enum ks_room { KS_ROOM_SHOWN, KS_ROOM_FACTORS, KS_ROOM_PARKED, KS_ROOM_PARKED_TOO } ks_room;

/** Such a room. Its size is an odd multiple of KS_COLUMNS numbers, so that the teams of a warp read from different
 *  banks. */
template <ks_room, class Number> KS_DEVICE Number *ks_column_room(void)
{
    enum { APART = (KS_COLUMNS * (int)sizeof(Number) / 16 | 1) * 16 / (int)sizeof(Number),
           ROOM = KS_COLUMNS * (APART + 1) };
    KS_SHARED(ks_piece, rooms, KS_COLUMN_THREADS / KS_COLUMNS * ROOM * sizeof(Number) / sizeof(ks_piece));
    return reinterpret_cast<Number *>(rooms) + (int)threadIdx.y * ROOM;
}

/** This thread's column of a parked matrix. */
template <ks_room Room, class Number> KS_DEVICE Number *ks_column_parked(void)
{
    return ks_column_room<Room, Number>() + ks_column() * ks_column_apart<Number>(KS_COLUMNS);
}

/** The numbers of the threads, behind the matrix. */
template <class Number> KS_DEVICE Number *ks_column_singles(void)
{
    return ks_column_room<KS_ROOM_SHOWN, Number>() + KS_COLUMNS * ks_column_apart<Number>(KS_COLUMNS);
}

/** Show the team this thread's column of m numbers, whole pieces. The caller synchronizes. */
template <class Number> KS_DEVICE void ks_column_put(int m, const Number *own)
{
    enum { PIECE = sizeof(ks_piece) / sizeof(Number) };
    Number *const to = ks_column_room<KS_ROOM_SHOWN, Number>() + ks_column() * ks_column_apart<Number>(m);
    KS_UNROLL
    for (int i = 0; i < m; i += PIECE) {
        Number piece[PIECE]; /* `own` may be parked: then it is not known to be aligned to more than a number */
        KS_UNROLL
        for (int e = 0; e < PIECE; ++e) piece[e] = own[i + e];
        memcpy(static_cast<Number *>(ks_aligned(to + i, 16)), piece, 16);
    }
}

/** Show the team a matrix of m rows: barriers before and behind. */
template <class Number> KS_DEVICE void ks_columns_show(int m, const Number *own)
{
    __syncwarp();
    ks_column_put(m, own);
    __syncwarp();
}

/** Column j of the matrix of m rows that is shown. */
template <class Number> KS_DEVICE void ks_column_get(int m, int j, Number *column)
{
    enum { PIECE = sizeof(ks_piece) / sizeof(Number) };
    const Number *const from = ks_column_room<KS_ROOM_SHOWN, Number>() + j * ks_column_apart<Number>(m);
    KS_UNROLL
    for (int i = 0; i < m; i += PIECE)
        memcpy(column + i, static_cast<const Number *>(ks_aligned(from + i, 16)), 16);
}

/** Entry (i, j) of it. */
template <class Number> KS_DEVICE Number ks_column_at(int m, int i, int j)
{
    return ks_column_room<KS_ROOM_SHOWN, Number>()[j * ks_column_apart<Number>(m) + i];
}

/** Numbers j .. n - 1 of column j of the factors, n whole pieces: by the one thread that has them, and to all. */
template <class Number> KS_DEVICE void ks_factor_put(int j, int n, const Number *own)
{
    enum { PIECE = sizeof(ks_piece) / sizeof(Number) };
    Number *const to = ks_column_room<KS_ROOM_FACTORS, Number>() + j * ks_column_apart<Number>(n);
    KS_UNROLL
    for (int i = j; i < n; ++i)
        if (i % PIECE == 0) memcpy(static_cast<Number *>(ks_aligned(to + i, 16)), own + i, 16);
        else if (i - i % PIECE < j) to[i] = own[i];
}
template <class Number> KS_DEVICE void ks_factor_get(int j, int n, Number *column)
{
    enum { PIECE = sizeof(ks_piece) / sizeof(Number) };
    const Number *const from = ks_column_room<KS_ROOM_FACTORS, Number>() + j * ks_column_apart<Number>(n);
    KS_UNROLL
    for (int i = j; i < n; ++i)
        if (i % PIECE == 0) memcpy(column + i, static_cast<const Number *>(ks_aligned(from + i, 16)), 16);
        else if (i - i % PIECE < j) column[i] = from[i];
}

#endif
