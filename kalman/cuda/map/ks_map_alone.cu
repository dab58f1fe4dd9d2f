// ks_map_alone.cu -- the MAP route on a device: a thread for each segment of small models; see map_alone.h.
#include <math.h>
#include "map_kernels.h"
#include "hd.h"
#include "scan_report.h"

// A team of one thread.
#define KS_TEAM_EACH(i, n) for (int i = 0; i < (n); ++i)
#define ks_team_sync() ((void)0)
#define ks_team_lane() 0
#define ks_team_lanes() 1

#define KS_ALONE_T(name, n, m) KS_ALONE_JOIN(name, n, m)
#define KS_ALONE_JOIN(name, n, m) name##_alone_##n##_##m
#define KS_ALONE_N(name, n, m) KS_ALONE_NAME(name, n, m)
#define KS_ALONE_NAME(name, n, m) name##_##n##_##m
#define KS_ALONE_BOUNDS(name) KS_KERNEL_BOUNDS(name, ks_map_args, KS_MAP_THREADS, 1)

#define KS_ALONE_STATES 1
#define KS_ALONE_ENTRIES 1
#include "map_alone.h"

#define KS_ALONE_STATES 2
#define KS_ALONE_ENTRIES 1
#include "map_alone.h"

#define KS_ALONE_STATES 2
#define KS_ALONE_ENTRIES 2
#include "map_alone.h"

#define KS_ALONE_STATES 3
#define KS_ALONE_ENTRIES 1
#include "map_alone.h"

#define KS_ALONE_STATES 3
#define KS_ALONE_ENTRIES 2
#include "map_alone.h"

#define KS_ALONE_STATES 4
#define KS_ALONE_ENTRIES 1
#include "map_alone.h"

#define KS_ALONE_STATES 4
#define KS_ALONE_ENTRIES 2
#include "map_alone.h"
