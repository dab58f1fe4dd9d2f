/* launch.h -- runs the blocks of one launch. */
#ifndef EMULATED_LAUNCH_H
#define EMULATED_LAUNCH_H

#include <stdint.h>
#include <string>
#include <vector>
#include "emulated_kernel.h"
#include "fibre.h"
#include "gpu/gpu.h"

/** Numbers in no order; the same for a seed (Marsaglia, "Xorshift RNGs", 2003, with a multiplier).
 */
struct random_source {
    uint64_t state;
    explicit random_source(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du)
    {
    }
    /** From 0 to n - 1. */
    size_t below(size_t n)
    {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        const uint32_t drawn = (uint32_t)((state * 0x2545f4914f6cdd1du) >> 33);
        return n <= UINT32_MAX ? drawn % (uint32_t)n : drawn;
    }
};

/** Memory between two strips that nothing may write; holds 0xff, which is NaN in every precision.
 */
class guarded
{
  public:
    explicit guarded(size_t bytes);
    ~guarded();
    guarded(const guarded &) = delete;
    guarded &operator=(const guarded &) = delete;
    char *data() const { return data_; } /**< NULL where there was no memory */
    size_t bytes() const { return bytes_; }
    bool intact() const;
    /** Whether a sanitizer lets the program touch it: the host has no business in device memory. */
    void open(bool yes) const;
    bool holds(const void *p, size_t n) const;

  private:
    char *base_, *data_;
    size_t bytes_, mapped_; /* mapped_: how much, 0 where it comes from the heap */
};

/** Stacks, kept from one launch to the next: that their pages are there already is half of the time of short ones. */
class fibre_stock
{
  public:
    ~fibre_stock();
    fibre *take(); /**< NULL where there is no memory */
    void give(fibre *f) { free_.push_back(f); }

  private:
    std::vector<fibre *> free_;
};

/** Run a kernel, threads in an order drawn from `random`. Returns what went wrong, or nothing. */
std::string run_launch(const ks_emu_kernel &kernel, const ks_gpu_shape &shape, const void *args,
                       size_t most_shared, random_source &random);

#endif
