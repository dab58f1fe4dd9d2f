#include "help.h"

#include <stdio.h>
#include "kalscan/status.h"

const char *const ks_loglik_convention =
    "log p(y) of the entries present under the stated prior, every constant included: the sum over "
    "steps of -(n log(2 pi) + log det S + e' S^-1 e) / 2, n being the number of entries present";

const char *const ks_diffuse_loglik_convention =
    "the limit of log p(y) + (r / 2) log kappa for kappa -> infinity under the prior covariance P0 + kappa P0_inf, "
    "r being the number of its directions that y tells, every constant included (Durbin & Koopman, sec. 7.2.5)";

const char *const ks_model_equations =
    "  x[k] = F[k] x[k-1] + u[k] + w[k],   w[k] ~ N(0, Q[k]),   k = 0 .. T-1\n"
    "  y[k] = H[k] x[k]   + d[k] + v[k],   v[k] ~ N(0, R[k])\n";

void ks_help_model(void)
{
    printf("\nModel\n%s"
           "  F[k], Q[k] and u[k] lead into step k. The prior N(m0, P0) belongs to\n"
           "    prior x0 (default)       x[-1], the state before the first transition\n"
           "    prior x1                 x[0]; F[0], Q[0] and u[0] are neither read nor checked\n"
           "  With P0_inf, or its diagonal P0_inf_diag, the prior covariance is P0 + kappa P0_inf,\n"
           "  kappa -> infinity: diffuse, exactly. m0 and P0 may then be absent: zero.\n"
           "  Conventions of the file, set by attributes of /model or by options:\n"
           "    transition into (default) row k leads from x[k-1] to x[k]\n"
           "    transition out-of        row k leads from x[k] to x[k+1]; T or T-1 rows; needs\n"
           "                             prior x1 if F, Q or u varies with the step\n"
           "    layout c (default)       y(T, ny), F(T, nx, nx), H(T, ny, nx), as h5py shows them\n"
           "    layout fortran           time last, as MATLAB and Julia write it: the matrix of\n"
           "                             each step arrives transposed\n"
           "  A NaN in y, or its _FillValue, is a missing entry.\n", ks_model_equations);
}

void ks_help_exit_codes(void)
{
    printf("\nExit codes\n"
           "  0    done\n"
           "  1    numerical failure, or a method that refuses the model or system\n"
           "  2    wrong usage; or the output exists, or is the input\n"
           "  3    HDF5 with the wrong content\n"
           "  4    a file is missing, unreadable, not HDF5 or not writable\n"
           "  5    out of memory; or no such device, or no gnuplot for --plot\n"
           "  130  interrupted\n");
}

void ks_print_version(void) { printf("kalscan %s\n", ks_version()); }
