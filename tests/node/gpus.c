#include "node/gpus.h"

#include <sys/stat.h>
#include <unistd.h>

#include "node/program_source.h"
#include "tests/folder.h"
#include "tests/test.h"

/* A file below a folder, with those above it. */
static void put(const char *folder, const char *name, const char *text)
{
    folder_put(folder, name, 0);
    FILE *f = fopen(arena_printf(test_arena(), "%s/%s", folder, name), "we");
    check(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void put_pci(const char *folder, const char *slot, const char *vendor, const char *type)
{
    struct arena *a = test_arena();
    put(folder, arena_printf(a, "sys/bus/pci/devices/%s/vendor", slot), vendor);
    put(folder, arena_printf(a, "sys/bus/pci/devices/%s/class", slot), type);
}

static void put_render(const char *folder, int number, const char *vendor, const char *driver)
{
    struct arena *a = test_arena();
    put(folder, arena_printf(a, "dev/dri/renderD%d", number), "");
    put(folder, arena_printf(a, "sys/class/drm/renderD%d/device/vendor", number), vendor);
    check(symlink(arena_printf(a, "/sys/bus/pci/drivers/%s", driver),
              arena_printf(a, "%s/sys/class/drm/renderD%d/device/driver", folder, number)) == 0);
}

TEST(gpus_are_found_by_what_the_kernel_tells)
{
    const char *folder = folder_new();
    struct gpus g = gpus_find(test_arena(), folder);
    check_text(g.text, "none");
    check(!g.builds);
    put_pci(folder, "0000:00:02.0", "0x1234\n", "0x030000\n"); /* a virtual screen */
    put_pci(folder, "0000:00:03.0", "0x8086\n", "0x020000\n"); /* a network card of Intel */
    check_text(gpus_find(test_arena(), folder).text, "none");
    put_pci(folder, "0000:01:00.0", "0x10de\n", "0x030200\n");
    g = gpus_find(test_arena(), folder);
    check_text(g.text, "1 of NVIDIA without NVIDIA's driver (/dev/nvidia0 is missing)");
    check_int(g.counts[GPU_NVIDIA], 0);
    put(folder, "dev/nvidia0", "");
    put(folder, "dev/nvidia1", "");
    put(folder, "dev/nvidiactl", "");
    put(folder,
        "proc/driver/nvidia/gpus/0000:01:00.0/information",
        "Model: \t\t NVIDIA H200\nIRQ:   \t\t 17\n");
    put_render(folder, 128, "0x1002\n", "amdgpu");
    put_render(folder, 129, "0x8086\n", "i915");
    put_render(folder, 130, "0x8086\n", "xe");
    put_render(folder, 131, "0x10de\n", "nvidia");
    g = gpus_find(test_arena(), folder);
    check_text(g.text, "2 of NVIDIA (NVIDIA H200), 1 of AMD, 2 of Intel");
    check_text(g.builds, "CUDA or Vulkan");
    static const int want[GPU_KINDS] = { 2, 1, 1, 1, 4 };
    for (int i = 0; i < GPU_KINDS; i++)
        check_int(g.counts[i], want[i]);
    folder_remove(folder);
}

TEST(programs_are_to_be_had_somewhere)
{
    static const struct gpus one = { .text = "1 of AMD", .builds = "ROCm or Vulkan" };
    static const struct gpus none = { .text = "none" };
    struct arena *a = test_arena();
    const char *llama = program_source(a, test_json("['/app/llama-server']"), &one);
    check(strstr(llama, "https://github.com/ggml-org/llama.cpp/releases"));
    check(text_ends(llama, " GPUs found: 1 of AMD (take a build for ROCm or Vulkan)."));
    llama = program_source(a, test_json("['llama-server']"), &none);
    check(text_ends(llama, " GPUs found: none."));
    check(strstr(program_source(a, test_json("['vllm', 'serve']"), &one), "pip install vllm"));
    const char *sglang = "['python3', '-m', 'sglang.launch_server']";
    check(strstr(program_source(a, test_json(sglang), &one), "pip install sglang"));
    check_text(program_source(a, test_json("['npx', '-y', 'x']"), &one),
        "To get it: Debian's package npm, or https://nodejs.org.");
    check_text(program_source(a, test_json("['sh']"), &one), "");
    check_text(program_source(a, json_none, &one), "");
}
