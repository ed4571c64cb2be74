/* The wire against known answers: bytes, order, edges, and the memory it holds. */
#include "core.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RING (64 * 4096)

struct run run = {.wires_fd = -1}; /* die() is main.c's; no test here may get that far */

_Noreturn void die(const char *format, ...)
{
    print_error("%s\n", format);
    exit(1);
}

static unsigned char sent[RING], got[RING];

static int open_wires(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sent; i++)
        sent[i] = (unsigned char)(i * 7 + i / 256);
    wires_open(8);
    return 0;
}

static int fresh_pair(void **state)
{
    (void)state;
    wires_reset((struct pairs){.first = 1, .count = 1});
    assert_int_equal(wires_bytes(), 0);
    return 0;
}

static struct wire *client(void)
{
    return wire_end(1, ROLE_CLIENT);
}

static struct wire *server(void)
{
    return wire_end(1, ROLE_SERVER);
}

static void a_silent_wire_gives_nothing(void **state)
{
    (void)state;
    assert_int_equal(wire_read(client(), got, 100), 0);
    assert_int_equal(wire_write(client(), sent, 0), 0);
    assert_int_equal(wire_read(server(), got, 100), 0);
}

static void what_one_end_writes_the_other_reads(void **state)
{
    (void)state;
    assert_int_equal(wire_write(client(), sent, 5000), 5000);
    assert_int_equal(wire_read(client(), got, 5000), 0);
    assert_int_equal(wire_read(server(), got, 6000), 5000);
    assert_memory_equal(got, sent, 5000);
}

static void reads_may_be_smaller_than_writes(void **state)
{
    (void)state;
    wire_write(server(), sent, 300);
    wire_write(server(), sent + 300, 200);
    assert_int_equal(wire_read(client(), got, 5), 5);
    assert_int_equal(wire_read(client(), got + 5, 1000), 295); /* a datagram at most */
    assert_int_equal(wire_read(client(), got + 300, 1000), 200);
    assert_memory_equal(got, sent, 500);
}

static void a_read_wire_holds_no_memory(void **state)
{
    (void)state;
    wire_write(client(), sent, 5000);
    assert_int_equal(wires_bytes(), 2 * 4096);
    wire_read(server(), got, 4999);
    assert_int_equal(wires_bytes(), 2 * 4096);
    wire_read(server(), got, 1);
    assert_int_equal(wires_bytes(), 0);
}

static void a_full_wire_would_block_until_it_is_read(void **state)
{
    (void)state;
    size_t writes = 0;
    while (wire_write(client(), sent + writes, 1000) == 1000)
        writes++;
    assert_int_equal(writes, RING / 4096);
    assert_int_equal(wire_read(server(), got, 1000), 1000);
    assert_int_equal(wire_write(client(), sent, 5000), 0); /* two pages, one is free */
    assert_int_equal(wire_write(client(), sent, 1000), 1000);
}

static void the_ring_goes_round(void **state)
{
    (void)state;
    for (size_t i = 0; i < 200; i++) {
        size_t size = 1 + (i * 9973) % 20000;
        assert_int_equal(wire_write(client(), sent + i, size), size);
        memset(got, 0, size);
        for (size_t done = 0; done < size;)
            done += wire_read(server(), got + done, size - done);
        assert_memory_equal(got, sent + i, size);
    }
    assert_int_equal(wires_bytes(), 0);
}

static void the_largest_write_fits(void **state)
{
    (void)state;
    assert_int_equal(wire_write(client(), sent, RING - 4), RING - 4);
    assert_int_equal(wire_read(server(), got, RING), RING - 4);
    assert_memory_equal(got, sent, RING - 4);
}

static void pairs_and_sessions_stay_apart(void **state)
{
    (void)state;
    for (size_t pair = 0; pair < 4; pair++)
        for (enum role role = ROLE_CLIENT; role <= ROLE_SERVER; role++) {
            wire_session_set(wire_end(pair, role), &sent[2 * pair + role]);
            wire_write(wire_end(pair, role), &sent[100 * pair + 10 * role], 10);
        }
    for (size_t pair = 0; pair < 4; pair++)
        for (enum role role = ROLE_CLIENT; role <= ROLE_SERVER; role++) {
            assert_ptr_equal(wire_session(wire_end(pair, role)), &sent[2 * pair + role]);
            assert_int_equal(wire_read(wire_end(pair, role), got, 100), 10);
            assert_memory_equal(got, &sent[100 * pair + 10 * !role], 10);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_silent_wire_gives_nothing, fresh_pair),
        cmocka_unit_test_setup(what_one_end_writes_the_other_reads, fresh_pair),
        cmocka_unit_test_setup(reads_may_be_smaller_than_writes, fresh_pair),
        cmocka_unit_test_setup(a_read_wire_holds_no_memory, fresh_pair),
        cmocka_unit_test_setup(a_full_wire_would_block_until_it_is_read, fresh_pair),
        cmocka_unit_test_setup(the_ring_goes_round, fresh_pair),
        cmocka_unit_test_setup(the_largest_write_fits, fresh_pair),
        cmocka_unit_test_setup(pairs_and_sessions_stay_apart, fresh_pair),
    };
    return cmocka_run_group_tests(tests, open_wires, NULL);
}
