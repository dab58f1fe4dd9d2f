/* emulated_kernel.h -- CUDA's device vocabulary for a host compiler. gpu/kernel.h includes it if nvcc does not compile.
 * KS_EMU_MODULE is the name of the source that is compiled. */
#ifndef EMULATED_KERNEL_H
#define EMULATED_KERNEL_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- kernels and how they are found ---- */

/** A kernel of the emulated device. It is linked into a list before main(). */
struct ks_emu_kernel {
    const char *module, *name;
    void (*run)(const void *args);
    size_t args_bytes;
    int most_threads; /**< of a block; 0: the device's limit */
    ks_emu_kernel *next;
    ks_emu_kernel(const char *module_, const char *name_, void (*run_)(const void *), size_t bytes,
                  int threads);
};

#define KS_KERNEL(name, args_type) KS_EMU_KERNEL(name, args_type, 0)
#define KS_KERNEL_BOUNDS(name, args_type, threads, blocks) KS_EMU_KERNEL(name, args_type, threads)
#define KS_EMU_KERNEL(name, args_type, threads)                                             \
    static void name(const args_type &args);                                                \
    static void name##_run(const void *args) { name(*static_cast<const args_type *>(args)); } \
    static ks_emu_kernel name##_kernel(KS_EMU_MODULE, #name, name##_run, sizeof(args_type), threads); \
    static void name(const args_type &args)

#define KS_DEVICE static inline __attribute__((unused))
#define KS_DEVICE_COLD static __attribute__((noinline, unused))
#define KS_DEVICE_MEMBER inline __attribute__((unused))
#define __device__
#define __forceinline__ inline

/* ---- position of a thread ---- */

struct ks_emu_dim {
    unsigned x, y, z;
};
struct ks_emu_place {
    ks_emu_dim thread, block, threads, blocks;
};
extern __thread const ks_emu_place *ks_emu_here; /* thread_local would check whether it is initialised */
#define threadIdx (ks_emu_here->thread)
#define blockIdx (ks_emu_here->block)
#define blockDim (ks_emu_here->threads)
#define gridDim (ks_emu_here->blocks)
#define warpSize 32

/* ---- shared memory ---- */

/** Return this block's shared memory named `key`. It is filled with NaN at its first use. */
void *ks_emu_shared(const void *key, size_t bytes);
void *ks_emu_dynamic_shared(void);
#define KS_SHARED(type, name, count)   \
    static const char name##_key = 0;  \
    type *const name = static_cast<type *>(ks_emu_shared(&name##_key, sizeof(type) * (size_t)(count)))
#define KS_DYNAMIC_SHARED(type, name) type *name = static_cast<type *>(ks_emu_dynamic_shared())

/* ---- aligned words ---- */

/** Report a fault if the pointer is not a multiple of `bytes`. */
void *ks_emu_aligned(const char *site, const void *pointer, size_t bytes);
#define ks_aligned(pointer, bytes) ks_emu_aligned(KS_EMU_SITE, pointer, bytes)

/* ---- barriers ---- */

#define KS_EMU_STRING_(x) #x
#define KS_EMU_STRING(x) KS_EMU_STRING_(x)
#define KS_EMU_SITE __FILE__ ":" KS_EMU_STRING(__LINE__)

/** Wait for the block. Returns the sum of `count` over its threads. */
int ks_emu_block_barrier(const char *site, int count);
void ks_emu_grid_barrier(const char *site);
void ks_emu_yield(void);
#define __syncthreads() ((void)ks_emu_block_barrier(KS_EMU_SITE, 0))
#define __syncthreads_count(p) ks_emu_block_barrier(KS_EMU_SITE, (p) ? 1 : 0)
#define __syncthreads_or(p) (ks_emu_block_barrier(KS_EMU_SITE, (p) ? 1 : 0) > 0)
#define __syncthreads_and(p) (ks_emu_block_barrier(KS_EMU_SITE, (p) ? 0 : 1) == 0)
#define ks_grid_sync() ks_emu_grid_barrier(KS_EMU_SITE)
#define __threadfence() ((void)0)
#define __threadfence_block() ((void)0)
#define __nanosleep(ns) ks_emu_yield()

/* ---- operations of a warp ---- */

/** Wait for the lanes of `mask`. When all have arrived, `resolve` does the operation for all of them on their operands
 *  (NULL for lanes outside the mask). */
void ks_emu_collective(const char *site, unsigned mask, void (*resolve)(void *const *, unsigned),
                       void *operand);
int ks_emu_lane(void);

template <class T> struct ks_emu_shuffle {
    T value;
    int source;
    T result;
    static void resolve(void *const *operands, unsigned mask)
    {
        for (int lane = 0; lane < 32; ++lane) {
            if (!(mask >> lane & 1)) continue;
            ks_emu_shuffle *to = static_cast<ks_emu_shuffle *>(operands[lane]);
            if (mask >> to->source & 1)
                to->result = static_cast<ks_emu_shuffle *>(operands[to->source])->value;
            else memset(static_cast<void *>(&to->result), 0xff, sizeof to->result);
        }
    }
};
template <class T> T ks_emu_shuffled(const char *site, unsigned mask, T value, int source)
{
    ks_emu_shuffle<T> s = {value, source & 31, value};
    ks_emu_collective(site, mask, ks_emu_shuffle<T>::resolve, &s);
    return s.result;
}
/* The lane that a shuffle reads. Outside the segment of `width` lanes it is the lane itself. */
static inline int ks_emu_index(int source, int width)
{
    return (ks_emu_lane() & ~(width - 1)) | (source & (width - 1));
}
static inline int ks_emu_within(int source, int width)
{
    const int lane = ks_emu_lane(), first = lane & ~(width - 1);
    return source < first || source >= first + width ? lane : source;
}
#define KS_EMU_FIRST(a, ...) (a)
#define KS_EMU_SECOND(a, b, ...) (b)
#define KS_EMU_STEP(...) ((int)KS_EMU_FIRST(__VA_ARGS__, 32))
#define KS_EMU_WIDTH(...) KS_EMU_SECOND(__VA_ARGS__, 32, 32)
#define KS_EMU_SHUFFLE(mask, value, source) ks_emu_shuffled(KS_EMU_SITE, mask, value, source)
#define KS_EMU_WITHIN(mask, value, source, ...) \
    KS_EMU_SHUFFLE(mask, value, ks_emu_within(source, KS_EMU_WIDTH(__VA_ARGS__)))
#define __shfl_sync(mask, value, ...) \
    KS_EMU_SHUFFLE(mask, value, ks_emu_index(KS_EMU_STEP(__VA_ARGS__), KS_EMU_WIDTH(__VA_ARGS__)))
#define __shfl_up_sync(mask, value, ...) \
    KS_EMU_WITHIN(mask, value, ks_emu_lane() - KS_EMU_STEP(__VA_ARGS__), __VA_ARGS__)
#define __shfl_down_sync(mask, value, ...) \
    KS_EMU_WITHIN(mask, value, ks_emu_lane() + KS_EMU_STEP(__VA_ARGS__), __VA_ARGS__)
#define __shfl_xor_sync(mask, value, ...) \
    KS_EMU_WITHIN(mask, value, ks_emu_lane() ^ KS_EMU_STEP(__VA_ARGS__), __VA_ARGS__)

unsigned ks_emu_ballot(const char *site, unsigned mask, int predicate);
void ks_emu_warp_sync(const char *site, unsigned mask);
#define __ballot_sync(mask, p) ks_emu_ballot(KS_EMU_SITE, mask, p)
#define __any_sync(mask, p) (ks_emu_ballot(KS_EMU_SITE, mask, p) != 0)
#define __all_sync(mask, p) (ks_emu_ballot(KS_EMU_SITE, mask, !(p)) == 0)
struct ks_emu_warp_barrier {
    const char *site;
    void operator()(unsigned mask = 0xffffffffu) const { ks_emu_warp_sync(site, mask); }
};
#define __syncwarp ks_emu_warp_barrier{KS_EMU_SITE}

/** The product of the tensor cores, with fragments as in gpu/kernel_mma.h. */
void ks_emu_mma(double *c, const double *a, const double *b, int m, int k);

/* ---- asynchronous copies ---- */

void ks_emu_async_copy(void *shared, const void *global, int bytes);
void ks_emu_async_commit(void);
void ks_emu_async_wait(int groups);

/* For gpu/kernel_bulk.h. `barrier` is the address of a barrier there. */
void ks_emu_bulk_init(const char *site, const void *barrier, unsigned threads);
void ks_emu_bulk_copy(const char *site, void *shared, const void *global, unsigned bytes,
                      const void *barrier);
void ks_emu_bulk_arrive(const char *site, const void *barrier, unsigned bytes);
void ks_emu_bulk_wait(const char *site, const void *barrier, unsigned parity);

/* ---- atomics: the threads take turns, so these are plain accesses ---- */

void ks_emu_atomic(const void *p, size_t bytes);
#define KS_EMU_UNWATCHED __attribute__((no_sanitize("thread"), noinline)) static
template <class T> KS_EMU_UNWATCHED T ks_emu_exchange(T *p, T value)
{
    ks_emu_atomic(p, sizeof *p);
    const T old = *p;
    *p = value;
    return old;
}
template <class T> KS_EMU_UNWATCHED T ks_relaxed_load(const T *p)
{
    ks_emu_atomic(p, sizeof *p);
    return *p;
}
template <class T> KS_EMU_UNWATCHED void ks_relaxed_store(T *p, T value) { (void)ks_emu_exchange(p, value); }
#define KS_EMU_ATOMIC(T)                                                                                  \
    KS_EMU_UNWATCHED inline T atomicAdd(T *p, T v) { return ks_emu_exchange(p, (T)(*p + v)); }            \
    KS_EMU_UNWATCHED inline T atomicExch(T *p, T v) { return ks_emu_exchange(p, v); }                     \
    KS_EMU_UNWATCHED inline T atomicMin(T *p, T v) { return ks_emu_exchange(p, v < *p ? v : *p); }        \
    KS_EMU_UNWATCHED inline T atomicMax(T *p, T v) { return ks_emu_exchange(p, v > *p ? v : *p); }        \
    KS_EMU_UNWATCHED inline T atomicCAS(T *p, T compare, T v)                                             \
    {                                                                                                     \
        return ks_emu_exchange(p, *p == compare ? v : *p);                                                \
    }
KS_EMU_ATOMIC(int)
KS_EMU_ATOMIC(unsigned)
KS_EMU_ATOMIC(unsigned long long)
KS_EMU_ATOMIC(long long)
KS_EMU_UNWATCHED inline float atomicAdd(float *p, float v) { return ks_emu_exchange(p, *p + v); }
KS_EMU_UNWATCHED inline double atomicAdd(double *p, double v) { return ks_emu_exchange(p, *p + v); }
KS_EMU_UNWATCHED inline int atomicOr(int *p, int v) { return ks_emu_exchange(p, *p | v); }
KS_EMU_UNWATCHED inline int atomicAnd(int *p, int v) { return ks_emu_exchange(p, *p & v); }
KS_EMU_UNWATCHED inline unsigned atomicOr(unsigned *p, unsigned v) { return ks_emu_exchange(p, *p | v); }
KS_EMU_UNWATCHED inline unsigned atomicAnd(unsigned *p, unsigned v) { return ks_emu_exchange(p, *p & v); }

/* ---- small functions ---- */

template <class T> T __ldg(const T *p) { return *p; }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
/* Newer C libraries have functions of these names. */
static inline double ks_emu_rsqrt(double x) { return 1 / sqrt(x); }
static inline float ks_emu_rsqrtf(float x) { return 1 / sqrtf(x); }
#define rsqrt ks_emu_rsqrt
#define rsqrtf ks_emu_rsqrtf

#endif
