/* libmarks.so: at each phase's end valgrind's tools are told so. Preloaded by tools/selfcheck.py, and a library of its
 * own so that the core builds without valgrind's headers. Does nothing outside of valgrind. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <valgrind/valgrind.h>

/* Before every other handler: a library's would free what it holds, and DHAT sees only what is live at the very end. */
static void leave(int status, void *nothing)
{
    (void)nothing;
    fflush(stdout);
    _exit(status);
}

/* By dlsym from meter_mark. massif writes a snapshot with all call stacks to MARKS_DIRECTORY/massif.K, K from 0. */
void memtest_marked(const char *phase)
{
    static unsigned marks;
    char command[1024];
    const char *directory = getenv("MARKS_DIRECTORY");
    (void)phase;
    if (marks == 0 && on_exit(leave, NULL) != 0)
        abort();
    snprintf(command, sizeof command, "detailed_snapshot %s/massif.%u", directory ? directory : ".", marks++);
    if (directory)
        VALGRIND_MONITOR_COMMAND(command);
}
