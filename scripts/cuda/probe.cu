// Compiled when Meson configures, to see that nvcc and its host compiler work together.
#include <math.h>
__global__ void probe(double *x) { x[threadIdx.x] = sqrt(x[threadIdx.x]); }
