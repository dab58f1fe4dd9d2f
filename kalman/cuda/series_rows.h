/* series_rows.h -- device code: the rows of a step of a series in device memory. */
#ifndef KS_SERIES_ROWS_H
#define KS_SERIES_ROWS_H

#include "gpu/kernel.h"
#include "series.h"

struct ks_series_rows {
    const ks_series &s;

    explicit KS_DEVICE_MEMBER ks_series_rows(const ks_series &of) : s(of) {}
    /** Whether all rows lie as literal sizes say (plain), and those rows (plainly). */
    KS_DEVICE_MEMBER static bool plain() { return true; }
    KS_DEVICE_MEMBER const ks_series_rows &plainly() const { return *this; }
    KS_DEVICE_MEMBER const void *F(int64_t k) const { return ks_row(s.F, k - s.shift); }
    KS_DEVICE_MEMBER const void *Q(int64_t k) const { return ks_row(s.Q, k - s.shift); }
    KS_DEVICE_MEMBER const void *u(int64_t k) const { return ks_row(s.u, k - s.shift); }
    KS_DEVICE_MEMBER const void *H(int64_t k) const { return ks_row(s.H, k); }
    KS_DEVICE_MEMBER const void *R(int64_t k) const { return ks_row(s.R, k); }
    KS_DEVICE_MEMBER const void *d(int64_t k) const { return ks_row(s.d, k); }
    KS_DEVICE_MEMBER const void *y(int64_t k) const { return ks_row(s.y, k); }
};

#endif
