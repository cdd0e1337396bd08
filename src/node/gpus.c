#include "node/gpus.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"

#define DEVICES_MAX 64
#define FIRST_RENDER 128 /* /dev/dri/renderD128 is the first one */

/* ---- files of the kernel ---- */

/* The first line; "" if it cannot be read. */
static const char *line_of(struct arena *a, const char *path)
{
    char line[256] = "";
    FILE *f = fopen(path, "re");
    if (!f)
        return "";
    if (!fgets(line, sizeof(line), f))
        line[0] = 0;
    fclose(f);
    line[strcspn(line, "\n")] = 0;
    return arena_strdup(a, line);
}

/* The last name in a link's target; "" if there is none. */
static const char *link_name(struct arena *a, const char *path)
{
    char to[256];
    ssize_t length = readlink(path, to, sizeof(to) - 1);
    if (length <= 0)
        return "";
    to[length] = 0;
    const char *slash = strrchr(to, '/');
    return arena_strdup(a, slash ? slash + 1 : to);
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

/* The name of the first NVIDIA GPU; "" if the driver does not report it. */
static const char *nvidia_name(struct arena *a, const char *root)
{
    static const char key[] = "Model:";
    char line[256];
    const char *name = "", *folder = arena_printf(a, "%s/proc/driver/nvidia/gpus", root);
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && !*name && (e = readdir(dir));) {
        FILE *f = e->d_name[0] == '.'
                      ? NULL
                      : fopen(arena_printf(a, "%s/%s/information", folder, e->d_name), "re");
        while (f && fgets(line, sizeof(line), f))
            if (text_starts(line, key))
                name = str_dup(a, str_trim(str_of(line + strlen(key))));
        if (f)
            fclose(f);
    }
    if (dir)
        closedir(dir);
    return name;
}

/* ---- detection ---- */

static const struct vendor {
    const char *name, *id; /* the PCI vendor */
    const char *builds, *driver;
} vendors[] = {
    { "NVIDIA", "0x10de", "CUDA or Vulkan", "NVIDIA's driver (/dev/nvidia0 is missing)" },
    { "AMD", "0x1002", "ROCm or Vulkan", "the driver amdgpu (/dev/dri has no node of it)" },
    { "Intel", "0x8086", "SYCL or Vulkan", "the driver i915 or xe (/dev/dri has no node of it)" },
};
enum { VENDOR_NVIDIA, VENDOR_AMD, VENDOR_INTEL, VENDORS };

struct found {
    int usable[VENDORS], barred[VENDORS]; /* barred: this process may not open it */
    int devices[VENDORS];                 /* on the bus, with a driver or not */
    const char *barred_node;
};

static int vendor_of(const char *id)
{
    for (int v = 0; v < VENDORS; v++)
        if (text_eq(vendors[v].id, id))
            return v;
    return -1;
}

static void add_render_nodes(struct arena *a, const char *root, struct gpus *g, struct found *f)
{
    for (int i = FIRST_RENDER; i < FIRST_RENDER + DEVICES_MAX; i++) {
        const char *node = arena_printf(a, "%s/dev/dri/renderD%d", root, i);
        if (!exists(node))
            continue;
        const char *device = arena_printf(a, "%s/sys/class/drm/renderD%d/device", root, i);
        const char *driver = link_name(a, arena_printf(a, "%s/driver", device));
        int v = vendor_of(line_of(a, arena_printf(a, "%s/vendor", device)));
        g->counts[GPU_RENDER]++;
        g->counts[GPU_AMD] += v == VENDOR_AMD;
        g->counts[GPU_INTEL_XE] += v == VENDOR_INTEL && text_eq(driver, "xe");
        g->counts[GPU_INTEL_I915] += v == VENDOR_INTEL && !text_eq(driver, "xe");
        if (v != VENDOR_AMD && v != VENDOR_INTEL)
            continue;
        f->usable[v]++;
        if (access(node, R_OK | W_OK) != 0) {
            f->barred[v]++;
            f->barred_node = node;
        }
    }
}

/* Displays (class 03) and processing accelerators (12). */
static void add_pci_devices(struct arena *a, const char *root, struct found *f)
{
    const char *folder = arena_printf(a, "%s/sys/bus/pci/devices", root);
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        const char *device = arena_printf(a, "%s/%s", folder, e->d_name);
        const char *type = line_of(a, arena_printf(a, "%s/class", device));
        int v = vendor_of(line_of(a, arena_printf(a, "%s/vendor", device)));
        if (v >= 0 && (text_starts(type, "0x03") || text_starts(type, "0x1200")))
            f->devices[v]++;
    }
    if (dir)
        closedir(dir);
}

/* ---- descriptions for people ---- */

static const char *words_of(
    struct arena *a, const struct found *f, int v, const char *nvidia, const char *before)
{
    const struct vendor *vendor = &vendors[v];
    const char *text = before, *comma = *before ? ", " : "";
    bool named = v == VENDOR_NVIDIA && *nvidia;
    if (f->usable[v])
        text = arena_printf(a,
            "%s%s%d of %s%s%s%s%s",
            before,
            comma,
            f->usable[v],
            vendor->name,
            named ? " (" : "",
            named ? nvidia : "",
            named ? ")" : "",
            f->barred[v]
                ? arena_printf(
                      a, " (%s may not be opened: its group is often `render`)", f->barred_node)
                : "");
    else if (f->devices[v])
        text = arena_printf(a,
            "%s%s%d of %s without %s",
            before,
            comma,
            f->devices[v],
            vendor->name,
            vendor->driver);
    return text;
}

struct gpus gpus_find(struct arena *a, const char *root)
{
    struct gpus g = { .text = "" };
    struct found f = { 0 };
    for (int i = 0; i < DEVICES_MAX; i++)
        f.usable[VENDOR_NVIDIA] += exists(arena_printf(a, "%s/dev/nvidia%d", root, i));
    g.counts[GPU_NVIDIA] = f.usable[VENDOR_NVIDIA];
    add_render_nodes(a, root, &g, &f);
    add_pci_devices(a, root, &f);
    const char *nvidia = nvidia_name(a, root);
    for (int v = 0; v < VENDORS; v++) {
        g.text = words_of(a, &f, v, nvidia, g.text);
        if (!g.builds && (f.usable[v] || f.devices[v]))
            g.builds = vendors[v].builds;
    }
    if (!*g.text)
        g.text = "none";
    return g;
}
