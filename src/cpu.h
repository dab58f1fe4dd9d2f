/* cpu.h -- what the processor that runs this has. */
#ifndef KS_CPU_H
#define KS_CPU_H

/** Non-zero where the kernels compiled for AVX2 and FMA can run. */
static inline int ks_has_avx2(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return 0;
#endif
}

#endif
