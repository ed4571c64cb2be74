/* s2n offers what a named security policy has, all of it, and a server chooses by its own order. These are the policies
 * that have a suite for both ends' first choice with the fewest ciphers and groups beside it. So its hellos are larger
 * than those of a stack that offers just one; what came out is checked as everywhere. */
#include "s2n_policies.h"

#include <string.h>
#include <strings.h>

static const struct {
    const char *protocol, *cipher, *group, *of[2]; /* by role */
} known[] = {
    /* client: 8 ciphers and 4 groups, no TLS 1.3; server: 13 and 3, AES-256 and X25519 first */
    {"TLSv1.2", "ECDHE-RSA-AES256-GCM-SHA384", "X25519", {"20240501", "KMS-TLS-1-2-2023-06"}},
    /* client: 5 and 2, with TLS 1.3; server: 7 and 4, without it */
    {"TLSv1.2", "ECDHE-ECDSA-AES256-GCM-SHA384", "X25519", {"TLS12_20261021_1", "test_all_ecdsa"}},
    /* client: 3 and 3, TLS 1.3 only, as the server of AES-128; server of AES-256: 12 and 3, AES-256 first */
    {"TLSv1.3", "TLS_AES_128_GCM_SHA256", "X25519", {"CloudFront-TLS-1-3-2025-no-pq", "CloudFront-TLS-1-3-2025-no-pq"}},
    {"TLSv1.3", "TLS_AES_256_GCM_SHA384", "X25519", {"CloudFront-TLS-1-3-2025-no-pq", "20190801"}},
    /* client: 3 and 5, with a key share each of X25519MLKEM768 and X25519; server of AES-256: 12 and 5 */
    {"TLSv1.3", "TLS_AES_128_GCM_SHA256", "X25519MLKEM768", {"CloudFront-TLS-1-3-2025", "CloudFront-TLS-1-3-2025"}},
    {"TLSv1.3", "TLS_AES_256_GCM_SHA384", "X25519MLKEM768", {"CloudFront-TLS-1-3-2025", "PQ-TLS-1-2-2024-10-09"}},
};

const char *policy_for(const struct suite *suite, enum role role)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].protocol, suite->protocol) && !strcasecmp(known[i].cipher, suite->cipher) &&
            !strcasecmp(known[i].group, suite->group))
            return known[i].of[role];
    return NULL;
}
