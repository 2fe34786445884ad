# Every test once more with a far device (support/far_device.h) as default device: `ctest -R ^far/`.
#
# Left out, and why:
set(DYNET_FAR_LEFT_OUT
  init_test                # which device initialize() makes the default one
  pool_test                # pools of the host's memory; far_device_test has the far device's
  device_chain_test        # CUDA's own memory
  device_rows_test         # likewise
  device_rules_test        # likewise
  device_steps_test        # likewise
  update_allocation_test   # counts what the heap gives; the far device's queue takes from it
  cross_allocation_test    # likewise
  cross_failed_allocation_test  # likewise: the queue is not where it lets allocations fail
  cross_failed_builder_allocation_test  # likewise
  cross_repeated_draws_test  # likewise
  cross_bytes_per_node_test     # measures the process; the far device is part of it
  cross_devices_test       # names its devices, the far ones among them
  cross_device_graphs_test # likewise
  cross_gpus_test          # likewise
  cross_graphs_on_threads_test  # counts loops that threads of the host share
  rows_on_simd_test        # calls loops, or the CPU's kernels, by hand: no device is asked
  rules_on_simd_test       # likewise
  shared_memory_test       # memory of the host
  faults_test              # parameters that processes share lie in memory of the host
  mp_test                  # likewise
  workers_test             # likewise
)

# Under a sanitizer only these, which together go through all ways of memory to and from a device: the
# rest of a test does the same work on either device, and the first entry has shown it.
set(DYNET_FAR_SANITIZED
  cross_far_device_test cross_incremental_test cross_random_session_test cross_recurrence_test cross_rows_test
  cross_user_ops_test)

# dynet_far_test(name program): the entry far/<name>.
function(dynet_far_test name program)
  if(DYNET_SANITIZE AND NOT program IN_LIST DYNET_FAR_SANITIZED)
    return()
  endif()
  if(NOT program IN_LIST DYNET_FAR_LEFT_OUT)
    add_test(NAME far/${name} COMMAND ${program})
    set_tests_properties(far/${name} PROPERTIES ENVIRONMENT "DYNET_TEST_DEVICE=FAR:0")
  endif()
  dynet_gpu_test(${name} ${program})
endfunction()

# Tests once more on GPU:0, which runs on the CPU (cuda_on_host): `ctest -R ^gpu/`. Each access of each thread is
# looked at, so that tests of minutes are missing here; docs/decisions/0036-gpu-device.md has the rest of the list.
# Not among them, and why: tests that compute in a child of the process, where CUDA does not work ("Killed"); Ctrl-C in
# work of seconds, which takes the emulator hours ("Interrupt"). Run by hand: cross_inference_test, cross_windows_test
# and cross_long_sums_test take minutes, and cross_limits_test needs DYNET_CUDA_MEMORY_MB=2048 for a thousand graphs.
set(DYNET_GPU_TESTS
  # stages whose programs have all that the library of the GPU needs of libdynet: trainers, io
  averages_test averages_at_rest_test base_test exact_test rates_test rules_test settings_test subset_test
  beside_test damage_test pretrain_test safetensors_test text_file_test
  cross_arguments_test cross_attention_builders_test cross_attention_test cross_birnn_test cross_caches_test
  cross_chains_test cross_changed_parameters_test cross_checkpoint_test cross_computed_weights_test
  cross_crf_builder_test cross_evaluating_test cross_exact_updates_test cross_explain_test cross_far_device_test
  cross_foreign_files_test cross_grad_check_test cross_incremental_test cross_lengths_test cross_lists_test
  cross_random_distribution_test cross_random_program_test cross_recurrence_test cross_rows_test cross_threads_test
  cross_device_graphs_test cross_share_test cross_softmax_builders_test cross_special_rows_test
  cross_special_values_test cross_cell_cases_test cross_user_cells_test
)

# dynet_gpu_test(name program): the entry gpu/<name>.
function(dynet_gpu_test name program)
  if(NOT DYNET_CUDA_ON_HOST OR NOT program IN_LIST DYNET_GPU_TESTS)
    return()
  endif()
  set(library dynet_cuda_on_host)
  if(NOT program MATCHES "^cross_")
    set(library dynet_cuda_on_host_in_stages)
    set_target_properties(${program} PROPERTIES ENABLE_EXPORTS ON)  # the library finds libdynet in the program
  endif()
  add_dependencies(${program} ${library})
  add_test(NAME gpu/${name} COMMAND ${program})
  set(gpus 1)
  if(program STREQUAL "cross_device_graphs_test")
    set(gpus 2)
  endif()
  set_tests_properties(gpu/${name} PROPERTIES ENVIRONMENT
    "DYNET_CUDA_DEVICES=${gpus};GTEST_FILTER=-*Killed*:Interrupt.*;DYNET_TEST_DEVICE=GPU:0;DYNET_TEST_GPUS=${PROJECT_BINARY_DIR}/tests/cuda_on_host/lib${library}.so")
endfunction()
