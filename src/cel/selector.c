#include "cel/selector.h"

#include "cel/cel.h"

/* Where it matters for an estimate: entries of the maps, and the longest texts. */
#define ENTRIES_MAX 32
#define DRIVER_MAX 63
#define VALUE_MAX 64

static const struct cel_type text = { .kind = CEL_STRING }, boolean = { .kind = CEL_BOOL },
                             quantity = { .kind = CEL_QUANTITY },
                             any = { .kind = CEL_DYN, .name = "any" };

#define MAP_OF(values)                                                                             \
    {                                                                                              \
        .kind = CEL_MAP, .of = { &text, &(values) }                                                \
    }
static const struct cel_type attributes = MAP_OF(any), all_attributes = MAP_OF(attributes),
                             capacities = MAP_OF(quantity), all_capacities = MAP_OF(capacities);

static const struct cel_decl decl_text = { .type = &text, .elements_max = DRIVER_MAX },
                             decl_bool = { .type = &boolean },
                             decl_any = { .type = &any, .elements_max = VALUE_MAX },
                             decl_quantity = { .type = &quantity };

#define DECL_OF(map, below)                                                                        \
    {                                                                                              \
        .type = &(map), .items = &(below), .elements_max = ENTRIES_MAX                             \
    }
static const struct cel_decl decl_attributes = DECL_OF(attributes, decl_any),
                             decl_all_attributes = DECL_OF(all_attributes, decl_attributes),
                             decl_capacities = DECL_OF(capacities, decl_quantity),
                             decl_all_capacities = DECL_OF(all_capacities, decl_capacities);

static const struct cel_field fields[] = {
    /* by key */
    { "allowMultipleAllocations", "allowMultipleAllocations", &decl_bool },
    { "attributes", "attributes", &decl_all_attributes },
    { "capacity", "capacity", &decl_all_capacities },
    { "driver", "driver", &decl_text },
};

static const struct cel_decl device;
static const struct cel_type device_type = {
    .kind = CEL_OBJECT,
    .name = "kubernetes.DRADevice",
    .decl = &device,
};
static const struct cel_decl device = {
    .type = &device_type,
    .is_object = true,
    .fields = fields,
    .field_count = lengthof(fields),
};

/* As types are declared, not as messages about overloads have them. */
static const char *declared_name(struct arena *a, const struct cel_type *t)
{
    if (t == &any)
        return "google.protobuf.Any";
    const char *name = t->name ? t->name : cel_kind_name(t->kind);
    if (t->kind == CEL_MAP)
        return arena_printf(
            a, "map(%s, %s)", declared_name(a, t->of[0]), declared_name(a, t->of[1]));
    return t->of[0] ? arena_printf(a, "%s(%s)", name, declared_name(a, t->of[0])) : name;
}

const char *cel_selector_compile(struct arena *a, const char *expression, uint64_t *ret_cost)
{
    const struct cel_options options = { .variable = "device" };
    const struct cel_program *program;
    const char *trouble = cel_compile(a, &device, expression, &options, &program);
    if (trouble)
        return trouble;
    *ret_cost = program->estimate;
    if (program->type->kind == CEL_BOOL || program->type == &any)
        return NULL;
    return arena_printf(
        a, "must evaluate to bool or the unknown type, not %s", declared_name(a, program->type));
}
