/* kernel_mma.h -- C <- A B + C for small matrices on the tensor cores, in double precision.
 *
 * The 32 lanes of a warp hold the operands together. With g = lane / 4 and t = lane % 4 (PTX ISA, "Matrix fragments for
 * mma.m8n8k4 / m16n8k4 / k8 / k16 with .f64"):
 *
 *     A  a[i] = A(g + 8 (i % 2), t + 4 (i / 2))    for m = 16; for m = 8 only a[0] = A(g, t)
 *     B  b[i] = B(t + 4 i, g)
 *     C  c[i] = C(g + 8 (i / 2), 2 t + i % 2) */
#ifndef KS_GPU_KERNEL_MMA_H
#define KS_GPU_KERNEL_MMA_H

#ifdef __CUDACC__
KS_DEVICE void ks_mma_8x8x4(double c[2], double a, double b)
{
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+d"(c[0]), "+d"(c[1]) : "d"(a), "d"(b));
}

/* The wider shapes need compute capability 9.0. Before, they are composed of the small one, whose fragments are halves
 * and quarters of theirs. */
KS_DEVICE void ks_mma_16x8x4(double c[4], const double a[2], const double b[1])
{
#  if __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
                 "{%0,%1,%2,%3};"
                 : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                 : "d"(a[0]), "d"(a[1]), "d"(b[0]));
#  else
    ks_mma_8x8x4(c, a[0], b[0]);
    ks_mma_8x8x4(c + 2, a[1], b[0]);
#  endif
}

KS_DEVICE void ks_mma_16x8x8(double c[4], const double a[4], const double b[2])
{
#  if __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, "
                 "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#  else
    ks_mma_16x8x4(c, a, b);
    ks_mma_16x8x4(c, a + 2, b + 1);
#  endif
}

KS_DEVICE void ks_mma_16x8x16(double c[4], const double a[8], const double b[4])
{
#  if __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, "
                 "{%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, {%0,%1,%2,%3};"
                 : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]),
                   "d"(a[7]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
#  else
    ks_mma_16x8x8(c, a, b);
    ks_mma_16x8x8(c, a + 4, b + 2);
#  endif
}
#else
KS_DEVICE void ks_mma_8x8x4(double c[2], double a, double b) { ks_emu_mma(c, &a, &b, 8, 4); }
KS_DEVICE void ks_mma_16x8x4(double c[4], const double a[2], const double b[1])
{
    ks_emu_mma(c, a, b, 16, 4);
}
KS_DEVICE void ks_mma_16x8x8(double c[4], const double a[4], const double b[2])
{
    ks_emu_mma(c, a, b, 16, 8);
}
KS_DEVICE void ks_mma_16x8x16(double c[4], const double a[8], const double b[4])
{
    ks_emu_mma(c, a, b, 16, 16);
}
#endif

#endif
