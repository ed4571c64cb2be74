/* A sites run: the call stacks of one pair's live blocks, and how deep the stack goes below a driver's calls. */
#ifndef MEMTEST_SITES_H
#define MEMTEST_SITES_H

#include "driver.h"
#include <stdint.h>

/* sites.c: does nothing but when HEAPMETER_SITES=1 is in the environment. */
bool sites_wanted(void);
void sites_open(void);   /* before the run line; dies when libunwind or the heap meter is not there */
void sites_stacks(void); /* the stack lines that this phase needs */
void sites_record(void); /* the phase's sites; from `contexts` on they are kept */

/* paint.c: for the calls of the first pairs of a window, but never for those of the pair `except`. */
void paint_begin(size_t first, size_t count, size_t except);
bool paint_wanted(size_t pair);
size_t paint_lead(size_t pair, const void *frame); /* what a caller of the driver takes of its stack before the call */
void paint(void);                                  /* both are called by the caller of the driver */
void paint_read(enum role role);
uint64_t paint_deepest(enum role role); /* bytes below the caller since last asked; 0: no call */

#endif
