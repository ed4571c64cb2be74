/* Where the fields of driver.h's structs are, for languages that mirror them. */
#include "driver.h"

#define STRUCT(type)                                                                                                   \
    {                                                                                                                  \
#type, sizeof(struct type)                                                                                     \
    }
#define FIELD(type, field)                                                                                             \
    {                                                                                                                  \
#type "." #field, offsetof(struct type, field)                                                                 \
    }

const struct memtest_place memtest_layout[] = {
    STRUCT(driver),
    FIELD(driver, name),
    FIELD(driver, version),
    FIELD(driver, supports),
    FIELD(driver, context_new),
    FIELD(driver, session_new),
    FIELD(driver, name_add),
    FIELD(driver, resume),
    FIELD(driver, tickets),
    FIELD(driver, handshake),
    FIELD(driver, write),
    FIELD(driver, read),
    FIELD(driver, negotiated),
    FIELD(driver, release),
    FIELD(driver, session_free),
    FIELD(driver, context_free),
    FIELD(driver, sealer_new),
    FIELD(driver, seal),
    FIELD(driver, sealer_free),
    FIELD(driver, mallctl),
    STRUCT(suite),
    FIELD(suite, protocol),
    FIELD(suite, cipher),
    FIELD(suite, group),
    FIELD(suite, client_groups),
    FIELD(suite, certs),
    FIELD(suite, auth),
    FIELD(suite, tickets),
    FIELD(suite, store),
    FIELD(suite, resume),
    FIELD(suite, options),
    STRUCT(negotiated),
    FIELD(negotiated, protocol),
    FIELD(negotiated, cipher),
    FIELD(negotiated, group),
    FIELD(negotiated, resumed),
    FIELD(negotiated, peer_verified),
    FIELD(negotiated, peer),
    {NULL, 0},
};
