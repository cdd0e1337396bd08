#include "base/table.h"
#include "base/str.h"
#include "tests/test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

struct item {
    struct table_node node;
    int number;
    bool seen;
};

static bool item_is(const struct table_node *n, const void *key)
{
    return container_of(n, struct item, node)->number == *(const int *)key;
}

static struct item *find(const struct table *t, int number)
{
    struct table_node *n = table_find(t, table_hash(t, &number, sizeof(number)), item_is, &number);
    return n ? container_of(n, struct item, node) : NULL;
}

static void add(struct table *t, struct item *item, int number)
{
    *item = (struct item){ .number = number };
    table_add(t, &item->node, table_hash(t, &number, sizeof(number)));
}

TEST(siphash_gives_the_published_values)
{
    /* Under the key 00 01 … 0f, of the messages "", 00, 00 01, …; computed with another program,
     * which with 2-4 rounds gives the vector of the paper's appendix. */
    struct table t;
    table_init(&t, 0x0706050403020100, 0x0f0e0d0c0b0a0908);
    static const uint64_t want[] = { 0xabac0158050fc4dc,
        0xc9f49bf37d57ca93,
        0x82cb9b024dc7d44d,
        0x8bf80ab8e7ddf7fb,
        0xcf75576088d38328,
        0xdef9d52f49533b67,
        0xc50d2b50c59f22a7,
        0xd3927d989bb11140,
        0x369095118d299a8e,
        0x25a48eb36c063de4,
        0x79de85ee92ff097f,
        0x70c118c1f94dc352,
        0x78a384b157b4d9a2,
        0x306f760c1229ffa7,
        0x605aa111c0f95d34,
        0xd320d86d2a519956,
        0xcc4fdd1a7d908b66,
        0x9cf2689063dbd80c };
    uint8_t message[64];
    for (size_t i = 0; i < sizeof(message); i++)
        message[i] = (uint8_t)i;
    for (size_t i = 0; i < lengthof(want); i++)
        check(table_hash(&t, message, i) == want[i]);
}

TEST(what_was_added_is_found_until_it_is_removed)
{
    enum { COUNT = 5000 };
    static struct item items[COUNT];
    struct table t;
    table_init(&t, 1, 2);
    check(!find(&t, 1));
    for (int i = 0; i < COUNT; i++)
        add(&t, &items[i], i);
    check_int((int64_t)t.count, COUNT);
    for (int i = 0; i < COUNT; i++)
        check(find(&t, i) == &items[i]);
    check(!find(&t, COUNT));
    for (int i = 0; i < COUNT; i += 2)
        table_remove(&t, &items[i].node);
    for (int i = 0; i < COUNT; i++)
        check(find(&t, i) == (i % 2 ? &items[i] : NULL));
    table_done(&t);
}

TEST(chains_stay_short)
{
    enum { COUNT = 10000 };
    static struct item items[COUNT];
    struct table t;
    table_init(&t, 3, 4);
    for (int i = 0; i < COUNT; i++)
        add(&t, &items[i], i * 4096);
    size_t longest = 0;
    for (size_t i = 0; i < t.chain_count; i++) {
        size_t length = 0;
        for (struct table_node *n = t.chains[i]; n; n = n->next)
            length++;
        longest = length > longest ? length : longest;
    }
    check(t.chain_count >= COUNT && longest < 12);
    table_done(&t);
}

TEST(a_walk_sees_each_entry_once_and_may_remove_the_current_one)
{
    enum { COUNT = 1000 };
    struct item *items[COUNT];
    struct table t;
    table_init(&t, 5, 6);
    for (int i = 0; i < COUNT; i++) {
        items[i] = mem_new_of(struct item);
        add(&t, items[i], i);
    }
    for (struct table_cursor c = table_first(&t); c.node; table_next(&c)) {
        struct item *item = container_of(c.node, struct item, node);
        check(!item->seen);
        item->seen = true;
        if (item->number % 3 == 0) {
            table_remove(&t, c.node);
            items[item->number] = NULL;
            free(item);
        }
    }
    size_t left = 0;
    for (struct table_cursor c = table_first(&t); c.node; table_next(&c), left++)
        check(container_of(c.node, struct item, node)->seen);
    check_int((int64_t)left, COUNT - 334);
    check_int((int64_t)t.count, COUNT - 334);
    table_done(&t);
    for (int i = 0; i < COUNT; i++)
        free(items[i]);
}

/* Whether a function ends with an abort. */
static bool aborts(void (*f)(void))
{
    pid_t child = fork();
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        fclose(stderr);
        f();
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void remove_another_while_walking(void)
{
    struct item items[3];
    struct table t;
    table_init(&t, 7, 8);
    for (int i = 0; i < 3; i++)
        add(&t, &items[i], i);
    struct table_cursor c = table_first(&t);
    table_remove(&t, c.node == &items[0].node ? &items[1].node : &items[0].node);
    table_next(&c);
}

static void add_while_walking(void)
{
    struct item items[2];
    struct table t;
    table_init(&t, 7, 8);
    add(&t, &items[0], 0);
    struct table_cursor c = table_first(&t);
    add(&t, &items[1], 1);
    table_next(&c);
}

TEST(other_changes_during_a_walk_are_caught)
{
    check(aborts(remove_another_while_walking));
    check(aborts(add_while_walking));
}
