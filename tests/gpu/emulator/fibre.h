/* fibre.h -- threads of one block that take turns on the host thread that runs them. */
#ifndef FIBRE_H
#define FIBRE_H

#include <stddef.h>

/** A stack, and where on it its owner stopped. */
struct fibre {
    void *pointer = nullptr; /**< of the stack while it does not run */
    char *memory = nullptr;  /**< a guard page, then the stack       */
    void *fake = nullptr;    /**< the address sanitizer's            */
    char *left = nullptr;    /**< for it: where the owner stopped    */
    void (*body)(void *) = nullptr;
    void *argument = nullptr;
};

/** Give a fibre its stack; false where there is no memory. */
bool fibre_allocate(fibre *f);
void fibre_release(fibre *f);

/** Make it ready to run body(argument), which never returns but ends with fibre_leave(f, to, true).
 *  What it did before is forgotten. */
void fibre_prepare(fibre *f, void (*body)(void *), void *argument);

/** From the scheduler: run the fibre, and whichever it leaves for, until one leaves for nobody. */
void fibre_enter(fibre *f);

/** From the fibre: on with `to`, or NULL: back to the scheduler; `last` where it will not run on. */
void fibre_leave(fibre *f, fibre *to, bool last);

#endif
