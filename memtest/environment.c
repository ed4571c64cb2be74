/* The laboratory: one CPU, no address randomisation, no transparent huge pages; what cannot be had is noted. */
#define _GNU_SOURCE
#include "core.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <unistd.h>

static void cpu_pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        die("cpu=%d: %s", cpu, strerror(errno));
}

/* False where the machine has it off for all. */
static bool randomises(void)
{
    char level = '2';
    int fd = open("/proc/sys/kernel/randomize_va_space", O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, &level, 1) != 1)
        level = '2';
    if (fd >= 0)
        close(fd);
    return level != '0';
}

/* As asked for, whatever the parent has. It takes effect at exec only, so the process starts itself again; its pid
 * stays. */
static void aslr_set(bool on, char **argv)
{
    int now = personality(0xffffffff), wanted = on ? now & ~ADDR_NO_RANDOMIZE : now | ADDR_NO_RANDOMIZE;
    if (now != -1 && now != wanted && personality(wanted) != -1 && personality(0xffffffff) == wanted)
        execv("/proc/self/exe", argv);
    run.aslr = randomises() && (now == -1 || !(now & ADDR_NO_RANDOMIZE));
    if (run.aslr && !on)
        note("address randomisation could not be switched off");
    if (!run.aslr && on)
        note("address randomisation could not be switched on");
}

/* The word in brackets: "always [madvise] never". */
static const char *thp_of_host(void)
{
    static char word[64];
    char line[64] = "";
    int fd = open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC);
    bool known = fd >= 0 && read(fd, line, sizeof line - 1) > 0;
    const char *bracket = strchr(line, '[');
    known = known && bracket && sscanf(bracket, "[%63[a-z]", word) == 1;
    if (fd >= 0)
        close(fd);
    if (!strcmp(run.thp, "off"))
        note("transparent huge pages could not be switched off");
    return known ? word : "never"; /* a kernel without them */
}

void environment_apply(char **argv)
{
    if (run.cpu >= 0)
        cpu_pin(run.cpu);
    aslr_set(run.aslr, argv);
    bool off = !strcmp(run.thp, "off");
    if (prctl(PR_SET_THP_DISABLE, off, 0, 0, 0) != 0 || !off) /* of a parent, too, is it inherited */
        run.thp = thp_of_host();
}
