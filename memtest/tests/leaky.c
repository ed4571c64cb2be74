/* The main of a harness whose driver leaks: 64 bytes for one of LEAK_EVERY sessions freed, once LEAK_AFTER were freed.
 * Any driver in C can be linked with it instead of harness-c/main.c; without LEAK_EVERY it leaks nothing. */
#include "driver.h"

#include <stdlib.h>

enum { LEAK_BYTES = 64 };

extern const struct driver driver;
static void *volatile lost; /* so that no allocation is optimised away */
static size_t freed, every, after;

static size_t number(const char *name)
{
    const char *value = getenv(name);
    return value ? strtoul(value, NULL, 10) : 0;
}

static void leaky_session_free(void *session)
{
    driver.session_free(session);
    if (every > 0 && ++freed > after && (freed - after) % every == 0)
        lost = malloc(LEAK_BYTES);
}

int main(int argc, char **argv)
{
    struct driver leaky = driver;
    leaky.session_free = leaky_session_free;
    every = number("LEAK_EVERY");
    after = number("LEAK_AFTER");
    return memtest_main(argc, argv, &leaky);
}
