/* fibre.h -- threads of one block that take turns on the host thread that runs them. */
#ifndef FIBRE_H
#define FIBRE_H

#include <stddef.h>

/** A stack, and where its owner stopped. */
struct fibre {
    void *pointer = nullptr; /**< of the stack while it does not run */
    char *memory = nullptr;  /**< a guard page, then the stack       */
    size_t lower = 0;        /**< bytes by which it begins below the end of that memory */
    void *fake = nullptr;    /**< the address sanitizer's            */
    char *left = nullptr;    /**< for it: where the owner stopped    */
    void (*body)(void *) = nullptr;
    void *argument = nullptr;
};

/** Allocate a fibre's stack. Returns false if there is no memory. */
bool fibre_allocate(fibre *f);
void fibre_release(fibre *f);

/** Prepare it to run body(argument), which must not return but end with fibre_leave(f, to, true). Its previous state is
 *  discarded. */
void fibre_prepare(fibre *f, void (*body)(void *), void *argument);

/** From the scheduler: run the fibre and those that it switches to, until one returns to the scheduler. */
void fibre_enter(fibre *f);

/** From the fibre: switch to `to` or, if NULL, return to the scheduler. last: the fibre will not run again. */
void fibre_leave(fibre *f, fibre *to, bool last);

#endif
