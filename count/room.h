/* room.h -- memory for operations that are executed in order to be counted. */
#ifndef KS_COUNT_ROOM_H
#define KS_COUNT_ROOM_H

#include "carve.h"
#include "pool.h"

/** Allocate the memory that `carve` lays out for `of`, and lay it out. The block is the carver's base; NULL if there is
 *  not enough memory. */
static inline ks_carver ks_room_open(void (*carve)(ks_carver *carver, void *of), void *of)
{
    ks_carver measure = ks_carver_at(NULL);
    carve(&measure, of);
    const size_t bytes = ks_carved_bytes(&measure);
    ks_carver room = ks_carver_at(bytes == SIZE_MAX ? NULL : ks_allocate(NULL, bytes));
    if (room.base) carve(&room, of);
    return room;
}

static inline void ks_room_close(ks_carver *room)
{
    ks_carve_end(room);
    ks_release(NULL, room->base);
}

#endif
