/* The scenario `churn`, for the core. */
#ifndef MEMTEST_CHURN_H
#define MEMTEST_CHURN_H

#include "core.h"

extern const char *const churn_patterns[]; /* names, by enum pattern; NULL after the last */
size_t churn_wave(void);                   /* from 1; 0 before the first and after the last */

#endif
