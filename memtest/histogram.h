/* Counts of values with an error of at most 0.1 %: HdrHistogram's buckets at 3 digits. */
#ifndef MEMTEST_HISTOGRAM_H
#define MEMTEST_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

/* Up to 2^37 ns, 137 s; what is longer counts as that. */
enum { HISTOGRAM_SUB_BITS = 11, HISTOGRAM_HALF = 1 << (HISTOGRAM_SUB_BITS - 1), HISTOGRAM_BUCKETS = 27 };
enum { HISTOGRAM_COUNTS = (HISTOGRAM_BUCKETS + 1) * HISTOGRAM_HALF };

size_t histogram_index(uint64_t value);
uint64_t histogram_value(size_t index); /* the least of those that are counted there */

#endif
