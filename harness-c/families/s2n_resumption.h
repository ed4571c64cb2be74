/* How s2n-tls resumes: by an id, of sessions that an application keeps, or by a ticket. */
#ifndef MEMTEST_S2N_RESUMPTION_H
#define MEMTEST_S2N_RESUMPTION_H

#include "driver.h"

#include <s2n.h>

/* Of a context. */
struct resumption {
    struct session_store *store; /* of a server that keeps its sessions */
    struct ticket *ticket;       /* of a client that gets tickets */
};

struct resumption resumption_new(struct s2n_config *config, enum role role, const struct suite *suite);
void resumption_free(struct resumption resumption);

/* By the ticket where clients offer tickets, else by the id of `from`. */
void session_resume(struct s2n_connection *session, struct s2n_connection *from, const struct ticket *ticket);
size_t tickets_told(void); /* that clients have received */

#endif
