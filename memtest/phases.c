/* The phases of a scenario of memory: what the meters are told when one begins, and what is read at its end. */
#include "core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char phase[16];
static const struct negotiated *(*complete)(void);

void phases_open(const struct negotiated *(*verified)(void))
{
    complete = verified;
}

void phase_begin(const char *name)
{
    snprintf(phase, sizeof phase, "%s", name);
    meter_reset(phase);
}

/* Read between two meetings: both processes are done with the phase, and neither begins the next. */
void phase_end(void)
{
    struct reading reading;
    const struct negotiated *result = NULL;
    const bool last = run.until && !strcmp(run.until, phase);
    meet(ROLE_CLIENT, true);
    meter_read(&reading);
    record_phase(phase, &reading);
    if (run.marks)
        meter_mark(phase);
    if (last)
        result = complete();
    meet(ROLE_CLIENT, true);
    if (last) {
        record_end(result);
        exit(0); /* frees nothing: a profiler then sees what is live here */
    }
}

void phases_close(const struct negotiated result[2])
{
    if (run.until)
        die("until=%s: no such phase in this run", run.until);
    record_end(result);
}
