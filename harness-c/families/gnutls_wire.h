/* GnuTLS over a wire. */
#ifndef MEMTEST_GNUTLS_WIRE_H
#define MEMTEST_GNUTLS_WIRE_H

#include "driver.h"

#include <gnutls/gnutls.h>

void transport_set(gnutls_session_t session, struct wire *wire);

/* GnuTLS asks to be called again after each ticket too. */
ssize_t receive(gnutls_session_t session, void *bytes, size_t size);

#endif
