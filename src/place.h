/* place.h -- memory that a text lays out in one array. */
#ifndef KS_PLACE_H
#define KS_PLACE_H

/* pointer <- the next so many numbers of `base`, of which `at` are taken; NULL where base is, so that they are counted. */
#define KS_PLACE(pointer, numbers)                                                          \
    do {                                                                                    \
        pointer = base ? base + at : NULL;                                                  \
        at += numbers;                                                                      \
    } while (0)

#endif
