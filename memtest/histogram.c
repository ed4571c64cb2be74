/* HdrHistogram's arithmetic: below 2^11 a count for each value, and for each power of two above 2^10 counts. */
#include "histogram.h"

size_t histogram_index(uint64_t value)
{
    const uint64_t most = (UINT64_C(1) << (HISTOGRAM_SUB_BITS + HISTOGRAM_BUCKETS - 1)) - 1;
    if (value > most)
        value = most;
    unsigned bits = 64 - (unsigned)__builtin_clzll(value | (2 * HISTOGRAM_HALF - 1));
    unsigned bucket = bits - HISTOGRAM_SUB_BITS;
    return (size_t)bucket * HISTOGRAM_HALF + (size_t)(value >> bucket);
}

uint64_t histogram_value(size_t index)
{
    if (index < 2 * HISTOGRAM_HALF)
        return index;
    size_t bucket = index / HISTOGRAM_HALF - 1;
    return (uint64_t)(index % HISTOGRAM_HALF + HISTOGRAM_HALF) << bucket;
}
