/* lock.h -- a mutex, for objects that several threads may use, one at a time. */
#ifndef KS_LOCK_H
#define KS_LOCK_H

#include <pthread.h>

typedef struct ks_lock { pthread_mutex_t mutex; } ks_lock;

static inline void ks_lock_open(ks_lock *lock) { pthread_mutex_init(&lock->mutex, NULL); }
static inline void ks_lock_close(ks_lock *lock) { pthread_mutex_destroy(&lock->mutex); }
static inline void ks_lock_acquire(ks_lock *lock) { pthread_mutex_lock(&lock->mutex); }
static inline void ks_lock_release(ks_lock *lock) { pthread_mutex_unlock(&lock->mutex); }

#endif
