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
endfunction()
