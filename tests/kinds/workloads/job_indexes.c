#include "kinds/workloads/job.h"

#include "tests/test.h"

TEST(indexes_are_written_as_kubernetes_writes_them)
{
    static const struct {
        const char *text, *again;
        int64_t total;
    } cases[] = {
        { "", "", 0 },
        { "3", "3", 1 },
        { "3,4", "3,4", 2 },
        { "1,3-5,7", "1,3-5,7", 5 },
        { "7,3-5,1,2", "1-5,7", 6 },
        { "0-99", "0-9", 10 },
        { "x,2,-3,4-,5-y", "2,4,5", 3 },
        { "8,1-3,2-6,7", "1-8", 8 },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct job_indexes set = job_indexes_parse(test_arena(), cases[i].text, 10);
        check_text(job_indexes_text(&set), cases[i].again);
        check_int(job_indexes_total(&set), cases[i].total);
    }
    check_int(job_indexes_parse(test_arena(), NULL, 10).count, 0);
}

TEST(indexes_are_added_in_any_order)
{
    static const int64_t order[] = { 5, 1, 9, 2, 8, 0, 5, 7, 6 };
    struct job_indexes set = { .arena = test_arena() };
    for (size_t i = 0; i < lengthof(order); i++)
        job_indexes_add(&set, order[i]);
    check_text(job_indexes_text(&set), "0-2,5-9");
    check(job_indexes_has(&set, 2) && !job_indexes_has(&set, 3));
    check_int(job_indexes_next_free(&set, 5), 10);
    check_int(job_indexes_next_free(&set, 4), 4);
}
