/* turn.h -- what several threads may use one at a time. */
#ifndef KS_TURN_H
#define KS_TURN_H

#include <pthread.h>

typedef struct ks_turn { pthread_mutex_t mutex; } ks_turn;

static inline void ks_turn_open(ks_turn *turn) { pthread_mutex_init(&turn->mutex, NULL); }
static inline void ks_turn_close(ks_turn *turn) { pthread_mutex_destroy(&turn->mutex); }
static inline void ks_turn_take(ks_turn *turn) { pthread_mutex_lock(&turn->mutex); }
static inline void ks_turn_end(ks_turn *turn) { pthread_mutex_unlock(&turn->mutex); }

#endif
