/* The names that a server serves: SERVER_NAME, and numbered ones. Which of its contexts serves one is remembered in a
 * memfd, reached by pread and pwrite: a server has a table of its own for that, and a session of the harness has none.
 */
#define _GNU_SOURCE
#include "core.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NUMBERED "name-%05zu.example"

static int contexts_fd = -1;
static char (*asked)[32]; /* by pair: a session may refer to the name that it was given */

static void must(bool done, const char *what)
{
    if (!done)
        die("names: %s: %s", what, strerror(errno));
}

void names_open(void)
{
    contexts_fd = memfd_create("memtest-names", MFD_CLOEXEC);
    must(contexts_fd >= 0, "memfd_create");
    asked = mmap(NULL, run.sessions / 2 * sizeof *asked, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    must(asked != MAP_FAILED, "addresses for all names");
}

const char *name_of(size_t name)
{
    static char text[32];
    snprintf(text, sizeof text, NUMBERED, name);
    return name ? text : SERVER_NAME;
}

/* 0 where it is none that is numbered. */
static size_t number_of(const char *server_name)
{
    size_t number = 0;
    return sscanf(server_name, NUMBERED, &number) == 1 && !strcmp(name_of(number), server_name) ? number : 0;
}

/* Pair by pair another, the last first; never SERVER_NAME, which a server without these names serves too. */
const char *wire_server_name(struct wire *wire)
{
    if (run.contexts.names == 1)
        return SERVER_NAME;
    const size_t pair = wire_pair(wire);
    return strcpy(asked[pair], name_of(run.contexts.names - 1 - pair % (run.contexts.names - 1)));
}

void name_put(const char *server_name, void *context)
{
    const off_t at = (off_t)(number_of(server_name) * sizeof context);
    must(pwrite(contexts_fd, &context, sizeof context, at) == sizeof context, "cannot store a context");
}

void *name_get(const char *server_name)
{
    void *context = NULL;
    const off_t at = (off_t)(number_of(server_name) * sizeof context);
    return at && pread(contexts_fd, &context, sizeof context, at) == sizeof context ? context : NULL;
}
