/* sanitizers.h -- whether sanitizers watch. Under them tests go through fewer of the cases that share their
 * text, because each takes ten times as long. */
#ifndef SANITIZERS_H
#define SANITIZERS_H

#if defined(__SANITIZE_ADDRESS__)
#    define WATCHES_ADDRESSES 1
#elif defined(__has_feature)
#    if __has_feature(address_sanitizer)
#        define WATCHES_ADDRESSES 1
#    endif
#endif
#if defined(__SANITIZE_THREAD__)
#    define WATCHES_THREADS 1
#elif defined(__has_feature)
#    if __has_feature(thread_sanitizer)
#        define WATCHES_THREADS 1
#    endif
#endif

#ifndef WATCHES_ADDRESSES
#    define WATCHES_ADDRESSES 0
#endif
#ifndef WATCHES_THREADS
#    define WATCHES_THREADS 0
#endif

enum { SANITIZED = WATCHES_ADDRESSES || WATCHES_THREADS };

#endif
