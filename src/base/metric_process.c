#include "base/metric_process.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"

#define STAT_BYTES_MAX 1024
/* Fields of /proc/self/stat, counted from the first one after the name in parentheses. */
#define STAT_UTIME 12
#define STAT_STIME 13
#define STAT_START 20
#define STAT_VIRTUAL 21
#define STAT_RESIDENT 22

static bool read_text(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "re");
    size_t length = file ? fread(text, 1, size - 1, file) : 0;
    text[length] = '\0';
    if (file)
        fclose(file);
    return length > 0;
}

/* Seconds since 1970 at which the machine started; 0: not known. */
static double boot_time(void)
{
    char line[256];
    unsigned long long at = 0;
    FILE *file = fopen("/proc/stat", "re");
    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "btime %llu", &at) == 1)
            break;
    if (file)
        fclose(file);
    return (double)at;
}

static double open_files(void)
{
    DIR *all = opendir("/proc/self/fd");
    double count = -3; /* itself, "." and ".." */
    if (!all)
        return 0;
    while (readdir(all))
        count++;
    closedir(all);
    return count;
}

static void print(
    struct buf *to, const char *name, const char *type, const char *help, double value)
{
    buf_printf(to, "# HELP %s %s\n# TYPE %s %s\n%s %.15g\n", name, help, name, type, name, value);
}

static void print_stat(const char *fields, struct buf *to)
{
    double values[STAT_RESIDENT + 1] = { 0 }, ticks = (double)sysconf(_SC_CLK_TCK);
    char *rest = (char *)fields;
    strsep(&rest, " "); /* the state is a letter */
    for (size_t i = 2; rest && i < lengthof(values); i++)
        values[i] = strtod(strsep(&rest, " "), NULL);
    print(to,
        "process_cpu_seconds_total",
        "counter",
        "Processor time, of the user and of the system.",
        (values[STAT_UTIME] + values[STAT_STIME]) / ticks);
    print(to,
        "process_start_time_seconds",
        "gauge",
        "When the process started, since 1970.",
        boot_time() + values[STAT_START] / ticks);
    print(to,
        "process_virtual_memory_bytes",
        "gauge",
        "Size of the address space.",
        values[STAT_VIRTUAL]);
    print(to,
        "process_resident_memory_bytes",
        "gauge",
        "Memory in use.",
        values[STAT_RESIDENT] * (double)sysconf(_SC_PAGESIZE));
}

void metric_process_print(struct buf *to)
{
    char text[STAT_BYTES_MAX];
    const char *name_end =
        read_text("/proc/self/stat", text, sizeof(text)) ? strrchr(text, ')') : NULL;
    struct rlimit files = { 0 };
    if (name_end && name_end[1] == ' ')
        print_stat(name_end + 2, to);
    getrlimit(RLIMIT_NOFILE, &files);
    print(to, "process_open_fds", "gauge", "Open files.", open_files());
    print(to, "process_max_fds", "gauge", "Open files at most.", (double)files.rlim_cur);
}
