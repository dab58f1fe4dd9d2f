/* launch.h -- runs the blocks of one launch. */
#ifndef EMULATED_LAUNCH_H
#define EMULATED_LAUNCH_H

#include <stdint.h>
#include <string>
#include <vector>
#include "emulated_kernel.h"
#include "fibre.h"
#include "gpu/gpu.h"

/** Pseudo-random numbers, reproducible by seed (Marsaglia, "Xorshift RNGs", 2003, with a multiplier). */
struct random_source {
    uint64_t state;
    explicit random_source(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du)
    {
    }
    /** Return a number from 0 to n - 1. */
    size_t below(size_t n)
    {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        const uint32_t drawn = (uint32_t)((state * 0x2545f4914f6cdd1du) >> 33);
        return n <= UINT32_MAX ? drawn % (uint32_t)n : drawn;
    }
};

/** Memory between two guard strips that nothing may write. It is filled with 0xff, which is NaN in every precision. */
class guarded
{
  public:
    explicit guarded(size_t bytes);
    ~guarded();
    guarded(const guarded &) = delete;
    guarded &operator=(const guarded &) = delete;
    char *data() const { return data_; } /**< NULL if there was no memory */
    size_t bytes() const { return bytes_; }
    bool intact() const;
    /** Whether a sanitizer permits accesses: the host must not access device memory. */
    void open(bool yes) const;
    bool holds(const void *p, size_t n) const;

  private:
    char *base_, *data_;
    size_t bytes_, mapped_; /* mapped_: mapped bytes, 0 if it is from the heap */
};

/** Stacks that are kept from one launch to the next. Their pages are present already, which saves half of the time of
 *  short launches. */
class fibre_stock
{
  public:
    ~fibre_stock();
    fibre *take(); /**< NULL if there is no memory */
    void give(fibre *f) { free_.push_back(f); }

  private:
    std::vector<fibre *> free_;
};

/** Run a kernel, with threads in an order drawn from `random`. Returns the fault, or "". */
std::string run_launch(const ks_emu_kernel &kernel, const ks_gpu_shape &shape, const void *args,
                       size_t most_shared, random_source &random);

#endif
