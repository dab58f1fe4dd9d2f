#include "help.h"

#include <stdio.h>
#include "kalscan/status.h"

const char *const ks_loglik_convention =
    "log p(y) of the entries present under the stated prior, every constant included: the sum over "
    "steps of -(n log(2 pi) + log det S + e' S^-1 e) / 2, n being the number of entries present";

const char *const ks_model_equations =
    "  x[k] = F[k] x[k-1] + u[k] + w[k],   w[k] ~ N(0, Q[k]),   k = 0 .. T-1\n"
    "  y[k] = H[k] x[k]   + d[k] + v[k],   v[k] ~ N(0, R[k])\n";

void ks_help_model(void)
{
    printf("\nModel\n%s"
           "  F[k], Q[k], u[k] lead into step k. Prior N(m0, P0):\n"
           "    prior x0 (default)       of x[-1], the state before the first transition\n"
           "    prior x1                 of x[0]; F[0], Q[0], u[0] are neither read nor checked\n"
           "  Conventions of the file, attributes of /model or options:\n"
           "    transition into (default) row k leads into step k\n"
           "    transition out-of        row k carries x[k] to x[k+1]; T or T-1 rows; with\n"
           "                             per-step F, Q or u it needs prior x1\n"
           "    layout c (default)       y(T, ny), F(T, nx, nx), H(T, ny, nx) as h5py shows them\n"
           "    layout fortran           written by MATLAB or Julia with time last: every matrix\n"
           "                             slice arrives transposed\n"
           "  NaN in y, or its _FillValue, is a missing entry.\n", ks_model_equations);
}

void ks_help_exit_codes(void)
{
    printf("\nExit codes\n"
           "  0 done; 1 numerical failure or refusal; 2 usage, or the output exists or is\n"
           "  the input; 3 HDF5 with the wrong content; 4 a file missing, unreadable, not\n"
           "  HDF5 or not writable; 5 out of memory, or the device, or for --plot gnuplot,\n"
           "  is not there; 130 interrupted\n");
}

void ks_print_version(void) { printf("kalscan %s\n", ks_version()); }
