#pragma once

/* The remaining budgets: tokens and money in a window of time, for each account, which is a budget
 * or a budget and a team.
 *
 *   ledger_reserve() ── before the request is sent ──> a claim, or how long to wait
 *   ledger_settle()  ── when the request is over   ──> what it really used
 *
 * Windows begin at multiples of their length since 1970, so that replicas and restarts agree on
 * them. A request is accepted if its estimate fits in addition to the used and reserved amounts, or
 * if the account is not empty and nothing is reserved. So concurrent requests cannot overdraw an
 * account together, and a single one overdraws it at most once. */

#include "base/table.h"
#include "base/timer.h"
#include "router/config.h"

#define LEDGER_ACCOUNTS_MAX 10000
#define LEDGER_KEY_MAX 191

struct ledger {
    const struct env *env;
    struct table accounts;
};

struct ledger_amount {
    int64_t tokens, nano; /* nano: billionths of a dollar */
};

struct ledger_account {
    struct table_node node;
    char key[LEDGER_KEY_MAX + 1]; /* budget, line end, team */
    int64_t window_ms, began_ms;
    struct ledger_amount used, reserved;
    size_t claims;
};

/* Zeroed: none. */
struct ledger_claim {
    struct ledger_account *account;
    struct ledger_amount amount;
};

void ledger_init(struct ledger *l, const struct env *env);
/* All claims must be settled. */
void ledger_done(struct ledger *l);
/* share: this router's part of the budget, which is divided by the replicas. False: it is used up
 * for ret_wait_ms. */
bool ledger_reserve(struct ledger *l, const struct router_budget *b, int64_t share, struct str team,
    struct ledger_amount estimate, struct ledger_claim *ret, int64_t *ret_wait_ms) must_check;
void ledger_settle(struct ledger *l, struct ledger_claim *claim, struct ledger_amount took);
/* The used part of each budget; for a budget by team, that of the team with the least left. ret has
 * one value per budget of the config. */
void ledger_utilization(struct ledger *l, const struct router_config *c, double *ret);
