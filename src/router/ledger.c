#include "router/ledger.h"

#include <stdio.h>
#include <stdlib.h>

#define BUSY_WAIT_MS 1000 /* until running requests have released their reservations */

void ledger_init(struct ledger *l, const struct env *env)
{
    *l = (struct ledger){ .env = env };
    table_init(&l->accounts, env->random(env->ctx), env->random(env->ctx));
}

void ledger_done(struct ledger *l)
{
    for (struct table_cursor c = table_first(&l->accounts); c.node; table_next(&c)) {
        struct ledger_account *account = container_of(c.node, struct ledger_account, node);
        table_remove(&l->accounts, c.node);
        free(account);
    }
    table_done(&l->accounts);
}

/* ---- accounts ---- */

static bool account_is(const struct table_node *n, const void *key)
{
    return text_eq(container_of(n, struct ledger_account, node)->key, key);
}

static void roll(struct ledger *l, struct ledger_account *account)
{
    int64_t began = env_wall_ms(l->env) / account->window_ms * account->window_ms;
    if (began == account->began_ms)
        return;
    account->began_ms = began;
    account->used = (struct ledger_amount){ 0 };
}

/* Frees accounts that hold no information any more. */
static void sweep(struct ledger *l)
{
    for (struct table_cursor c = table_first(&l->accounts); c.node; table_next(&c)) {
        struct ledger_account *account = container_of(c.node, struct ledger_account, node);
        roll(l, account);
        if (account->claims || account->used.tokens || account->used.nano)
            continue;
        table_remove(&l->accounts, c.node);
        free(account);
    }
}

/* Teams beyond the limit share the account for requests without a team. */
static struct ledger_account *account_of(
    struct ledger *l, const struct router_budget *b, struct str team)
{
    char key[LEDGER_KEY_MAX + 1];
    int length = snprintf(key, sizeof(key), "%s\n%.*s", b->name, (int)team.len, team.ptr ?: "");
    size_t size = (size_t)length < sizeof(key) ? (size_t)length : sizeof(key) - 1;
    uint64_t hash = table_hash(&l->accounts, key, size);
    struct table_node *node = table_find(&l->accounts, hash, account_is, key);
    struct ledger_account *account;
    if (node) {
        account = container_of(node, struct ledger_account, node);
    } else {
        if (l->accounts.count >= LEDGER_ACCOUNTS_MAX)
            sweep(l);
        if (l->accounts.count >= LEDGER_ACCOUNTS_MAX && team.len)
            return account_of(l, b, (struct str){ 0 });
        account = mem_new_of(struct ledger_account);
        memcpy(account->key, key, size + 1);
        table_add(&l->accounts, &account->node, hash);
    }
    account->window_ms = b->window_s * 1000;
    roll(l, account);
    return account;
}

/* ---- claims ---- */

static bool fits(int64_t max, int64_t used, int64_t reserved, int64_t wanted)
{
    if (!max)
        return true;
    return used < max && (reserved == 0 || used + reserved + wanted <= max);
}

static int64_t share_of(int64_t max, int64_t share)
{
    return max && max < share ? 1 : max / share;
}

bool ledger_reserve(struct ledger *l, const struct router_budget *b, int64_t share, struct str team,
    struct ledger_amount estimate, struct ledger_claim *ret, int64_t *ret_wait_ms)
{
    struct ledger_account *account = account_of(l, b, team);
    int64_t tokens = share_of(b->max_tokens, share), nano = share_of(b->max_nano, share);
    bool left = fits(tokens, account->used.tokens, 0, 0) && fits(nano, account->used.nano, 0, 0);
    if (!left) {
        *ret_wait_ms = account->began_ms + account->window_ms - env_wall_ms(l->env);
        return false;
    }
    if (!fits(tokens, account->used.tokens, account->reserved.tokens, estimate.tokens) ||
        !fits(nano, account->used.nano, account->reserved.nano, estimate.nano)) {
        *ret_wait_ms = BUSY_WAIT_MS;
        return false;
    }
    account->reserved.tokens += estimate.tokens;
    account->reserved.nano += estimate.nano;
    account->claims++;
    *ret = (struct ledger_claim){ account, estimate };
    return true;
}

void ledger_settle(struct ledger *l, struct ledger_claim *claim, struct ledger_amount took)
{
    struct ledger_account *account = claim->account;
    if (!account)
        return;
    roll(l, account);
    account->reserved.tokens -= claim->amount.tokens;
    account->reserved.nano -= claim->amount.nano;
    account->used.tokens += took.tokens;
    account->used.nano += took.nano;
    account->claims--;
    *claim = (struct ledger_claim){ 0 };
}

/* ---- metrics ---- */

static double part_of(
    const struct ledger_account *account, const struct router_budget *b, int64_t share)
{
    double tokens = 0, nano = 0;
    if (b->max_tokens)
        tokens = (double)account->used.tokens / (double)share_of(b->max_tokens, share);
    if (b->max_nano)
        nano = (double)account->used.nano / (double)share_of(b->max_nano, share);
    return tokens > nano ? tokens : nano;
}

void ledger_utilization(struct ledger *l, const struct router_config *c, double *ret)
{
    for (size_t i = 0; i < c->budget_count; i++)
        ret[i] = 0;
    for (struct table_cursor at = table_first(&l->accounts); at.node; table_next(&at)) {
        struct ledger_account *account = container_of(at.node, struct ledger_account, node);
        roll(l, account);
        for (size_t i = 0; i < c->budget_count; i++) {
            const struct router_budget *b = &c->budgets[i];
            size_t length = strlen(b->name);
            if (strncmp(account->key, b->name, length) != 0 || account->key[length] != '\n')
                continue;
            double part = part_of(account, b, c->replicas);
            ret[i] = part > ret[i] ? part : ret[i];
        }
    }
}
