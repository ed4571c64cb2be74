/* Groups by the names that suites.toml has for them. */
#ifndef MEMTEST_GROUP_NAMES_H
#define MEMTEST_GROUP_NAMES_H

#include "driver.h"

#include <string.h>
#include <strings.h>

/* NIST's curves have three names; a suite's is the one that all of OpenSSL's family take. */
static inline const char *group_as_suite(const char *own)
{
    static const struct {
        const char *own, *suite;
    } known[] = {
        {"secp256r1", "P-256"},
        {"prime256v1", "P-256"},
        {"secp384r1", "P-384"},
    };
    for (size_t i = 0; own && i < sizeof known / sizeof *known; i++)
        if (!strcasecmp(own, known[i].own))
            return known[i].suite;
    return own;
}

/* A role's groups, in its order, with colons between; NULL where the library is to choose. */
static inline const char *role_groups(enum role role, const struct suite *suite)
{
    if (role == ROLE_SERVER)
        return suite->group;
    return strcmp(suite->client_groups, GROUPS_LIBRARY) ? suite->client_groups : NULL;
}

/* The first name of a list, in `name`; the rest of the list, or NULL behind its last. */
enum { GROUP_NAME_BYTES = 64 };
static inline const char *group_next(const char *list, char name[GROUP_NAME_BYTES])
{
    const size_t length = strcspn(list, ":");
    const size_t kept = length < GROUP_NAME_BYTES ? length : GROUP_NAME_BYTES - 1;
    memcpy(name, list, kept);
    name[kept] = 0;
    return list[length] ? list + length + 1 : NULL;
}

#endif
