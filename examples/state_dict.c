/* A state-dict of ncps: the tensors that torch names, and the arguments of the constructor. */
#include <elegans/elegans.h>
#include <stdio.h>

int main(int argc, char **argv) {
    const char *config =
        "{\"model\": \"CfC\", \"input_size\": 2, \"units\": 4, \"backbone_layers\": 0}";
    const char *path = argc > 1 ? argv[1] : "state_dict_example.safetensors";
    eg_context *context;
    eg_model *made, *model;
    eg_error error;
    if (eg_context_create(NULL, &context, &error)) return puts(error.message), 1;
    /* stand in for Python: a file with the tensors of a state-dict and nothing else */
    if (eg_model_open(context, "cfc:4,in=2,backbone=0,seed=3", &made, &error))
        return puts(error.message), 1;
    const char *names[16];
    eg_tensor tensors[16];
    size_t count = 0;
    while (count < 16 && (names[count] = eg_model_tensor(made, count, &tensors[count], NULL)))
        count++;
    if (eg_safetensors_write(context, path, count, names, tensors, 0, NULL, &error) ||
        eg_model_load(context, path, config, &model, &error))
        return puts(error.message), 1;
    eg_model_info info = {.size = sizeof info};
    eg_model_info_get(model, &info);
    printf("%d tensors, %d parameters, %d inputs, %d outputs\n", (int)eg_model_count(model),
           (int)info.parameters, (int)info.inputs, (int)info.outputs);
    remove(path);
    eg_model_destroy(made);
    eg_model_destroy(model);
    eg_context_destroy(context);
    return 0;
}
