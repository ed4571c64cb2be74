/* libmarks.so: at each phase's end valgrind's tools are told so; in a real server on a signal. Preloaded by
 * tools/tls-memtest heap record and measure live --sites and by selfcheck.py, and a library of its own so that the core
 * builds without valgrind's headers. Does nothing outside of valgrind. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
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

static void valgrind(const char *command, const char *file, unsigned mark)
{
    char words[1024];
    snprintf(words, sizeof words, "%s %s.%u", command, file, mark);
    VALGRIND_MONITOR_COMMAND(words);
}

/* By dlsym from meter_mark. massif writes a snapshot with all call stacks to MARKS_DIRECTORY/massif.K, K from 0, and
 * with MARKS_XTREE the same for KCachegrind to MARKS_DIRECTORY/xtree.K. */
void memtest_marked(const char *phase)
{
    static unsigned marks;
    const char *directory = getenv("MARKS_DIRECTORY");
    char file[1000];
    (void)phase;
    if (marks == 0 && on_exit(leave, NULL) != 0)
        abort();
    if (directory) {
        snprintf(file, sizeof file, "%s/massif", directory);
        valgrind("detailed_snapshot", file, marks);
        snprintf(file, sizeof file, "%s/xtree", directory);
        if (getenv("MARKS_XTREE"))
            valgrind("xtmemory", file, marks);
    }
    marks++;
}

/* massif writes MARKS_DIRECTORY/PID.K, K from 1, which has this name once it is whole. vgdb cannot ask a process that
 * was forked: valgrind 3.19 does not answer it. */
static char place[900]; /* MARKS_DIRECTORY as the program began: nginx leaves it out of its environment later */

static void snapshot(int number)
{
    static unsigned snapshots;
    char words[1100], partial[1020], whole[1000];
    int saved = errno;
    (void)number;
    snapshots++;
    snprintf(whole, sizeof whole, "%s/%d.%u", place, getpid(), snapshots);
    snprintf(partial, sizeof partial, "%s.partial", whole);
    snprintf(words, sizeof words, "detailed_snapshot %s", partial);
    VALGRIND_MONITOR_COMMAND(words);
    rename(partial, whole);
    errno = saved;
}

__attribute__((constructor)) static void wait_for_signal(void)
{
    const char *number = getenv("MARKS_SIGNAL"), *directory = getenv("MARKS_DIRECTORY");
    struct sigaction action = {.sa_handler = snapshot, .sa_flags = SA_RESTART};
    if (!number || !directory || snprintf(place, sizeof place, "%s", directory) >= (int)sizeof place)
        return;
    sigaction(atoi(number), &action, NULL);
}
