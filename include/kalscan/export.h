/* kalscan/export.h -- attributes of public declarations.
 *
 *     KS_API                           exported by the library; all other symbols are hidden
 *     KS_MUST_CHECK                    compilers warn if the result is not used
 *     KS_BEGIN_DECLS, KS_END_DECLS     C linkage in C++ */
#ifndef KALSCAN_EXPORT_H
#define KALSCAN_EXPORT_H

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
