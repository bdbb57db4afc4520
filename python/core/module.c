/* The module elegans._core. */
#include "core.h"

static int add_all(PyObject *module) {
    return core_arrays_ready() || core_errors_add(module) || core_model_add(module) ||
           core_stream_add(module) || core_wiring_add(module) || core_safetensors_add(module) ||
           core_graph_add(module) || core_node_add(module) || core_program_add(module) ||
           core_scope_add(module) || core_tools_add(module) || core_generate_add(module) ||
           core_table_add(module) || core_data_add(module) || core_fit_add(module) ||
           core_evaluate_add(module) || core_profile_add(module) ||
           core_differentiable_add(module) || core_publish_add(module) ||
           core_monitor_add(module) || PyModule_AddFunctions(module, core_quantize_functions) ||
           PyModule_AddFunctions(module, core_context_functions) ||
           PyModule_AddFunctions(module, core_team_functions) ||
           PyModule_AddStringConstant(module, "version", eg_version());
}

PyMODINIT_FUNC PyInit__core(void) {
    static PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "elegans._core",
                                     .m_doc = "The library of elegans, as Python sees it.",
                                     .m_size = -1};
    PyObject *module = PyModule_Create(&definition);
    if (module && add_all(module)) Py_CLEAR(module);
    return module;
}
