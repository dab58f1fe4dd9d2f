/* stopper.h -- a progress function that stops the run at one of its calls. */
#ifndef STOPPER_H
#define STOPPER_H

#include <stdint.h>

typedef struct stopper { int calls, stop_at; } stopper;

static inline int stopping(void *user, int64_t done, int64_t total)
{
    stopper *s = user;
    assert_true(done <= total);
    return ++s->calls == s->stop_at;
}

#endif
