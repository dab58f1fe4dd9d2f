/* kalscan/export.h -- how public symbols are marked. */
#ifndef KALSCAN_EXPORT_H
#define KALSCAN_EXPORT_H

/* The library is built with hidden visibility; only KS_API symbols leave it. */
#if defined(__GNUC__)
#  define KS_API __attribute__((visibility("default")))
#  define KS_MUST_CHECK __attribute__((warn_unused_result))
#else
#  define KS_API
#  define KS_MUST_CHECK
#endif

#ifdef __cplusplus
#  define KS_BEGIN_DECLS extern "C" {
#  define KS_END_DECLS }
#else
#  define KS_BEGIN_DECLS
#  define KS_END_DECLS
#endif

#endif
