/* The histogram against HdrHistogram's own answers: those of the Python package hdrhistogram 0.10.8, HdrHistogram(1,
 * 2**37 - 1, 3), by _counts_index_for and get_value_from_index. */
#include "histogram.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define MOST ((UINT64_C(1) << 37) - 1)

static const struct {
    uint64_t value;
    size_t index;
    uint64_t least; /* of those that are counted with it */
} known[] = {
    {0, 0, 0},
    {1, 1, 1},
    {1023, 1023, 1023},
    {1024, 1024, 1024},
    {2047, 2047, 2047},
    {2048, 2048, 2048},
    {2049, 2048, 2048},
    {2050, 2049, 2050},
    {4095, 3071, 4094},
    {4096, 3072, 4096},
    {4099, 3072, 4096},
    {4100, 3073, 4100},
    {8191, 4095, 8188},
    {123456, 8073, 123456},
    {999999, 11169, 999936},
    {1048575, 11263, 1048064},
    {1048576, 11264, 1048576},
    {987654321, 21339, 987234304},
    {UINT64_C(123456789012), 28463, UINT64_C(123413200896)},
    {MOST, 28671, UINT64_C(137371844608)},
};
enum { KNOWN = sizeof known / sizeof *known };

static void values_are_counted_where_hdrhistogram_counts_them(void **state)
{
    (void)state;
    assert_int_equal(HISTOGRAM_COUNTS, 28672);
    for (size_t i = 0; i < KNOWN; i++) {
        assert_int_equal(histogram_index(known[i].value), known[i].index);
        assert_int_equal(histogram_value(known[i].index), known[i].least);
    }
}

static void every_count_is_of_the_values_from_its_own_to_the_next(void **state)
{
    (void)state;
    for (size_t i = 0; i < HISTOGRAM_COUNTS; i++) {
        uint64_t least = histogram_value(i), next = i + 1 < HISTOGRAM_COUNTS ? histogram_value(i + 1) : MOST + 1;
        assert_int_equal(histogram_index(least), i);
        assert_int_equal(histogram_index(next - 1), i);
        assert_true((next - 1 - least) * 1000 <= least); /* three digits */
    }
}

static void what_is_longer_counts_as_the_longest(void **state)
{
    (void)state;
    assert_int_equal(histogram_index(MOST + 1), HISTOGRAM_COUNTS - 1);
    assert_int_equal(histogram_index(UINT64_MAX), HISTOGRAM_COUNTS - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_counted_where_hdrhistogram_counts_them),
        cmocka_unit_test(every_count_is_of_the_values_from_its_own_to_the_next),
        cmocka_unit_test(what_is_longer_counts_as_the_longest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
