#include "cli/embedded.h"

#include "base/embed.h"
#include "base/yaml.h"

EMBED(crd_models, "api/inference.llmkube.dev_models.yaml");
EMBED(crd_inference_services, "api/inference.llmkube.dev_inferenceservices.yaml");
EMBED(crd_model_services, "api/model.otterscale.io_modelservices.yaml");
EMBED(crd_model_artifacts, "api/model.otterscale.io_modelartifacts.yaml");

const char *const embedded_crd_texts[] = {
    crd_models,
    crd_inference_services,
    crd_model_services,
    crd_model_artifacts,
    NULL,
};

struct json embedded_crds(struct arena *a)
{
    struct json_builder list;
    json_builder_init(&list, a);
    for (size_t i = 0; embedded_crd_texts[i]; i++) {
        struct json documents;
        struct error err;
        bool ok = yaml_parse_all(a, str_of(embedded_crd_texts[i]), "api", &documents, &err);
        assert(ok); /* tests/crds/check reads them too */
        json_push_all(&list, documents);
    }
    return json_list_end(&list);
}
