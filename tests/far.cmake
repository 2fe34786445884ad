# Every test once more with a far device (support/far_device.h) as default device: `ctest -R ^far/`.
#
# Left out, and why:
set(DYNET_FAR_LEFT_OUT
  init_test              # which device initialize() makes the default one
  pool_test              # pools of the host's memory; far_device_test has the far device's
  device_rules_test      # CUDA's own memory
  device_steps_test      # CUDA's own memory
  cross_allocation_test  # counts what the heap gives; the far device's queue takes from it
  cross_devices_test     # CPU beside CPU:double
  update_allocation_test # counts and refuses allocations, as the next two: the queue makes some
  cross_failed_allocation_test
  cross_bytes_per_node_test
  cross_gradient_norm_test  # which gradients of the CPU keep their norm; a far one keeps none
  cross_inference_test      # values are dropped where the host reads them; elsewhere all are kept
)

# dynet_far_test(name program): the entry far/<name>.
function(dynet_far_test name program)
  if(NOT program IN_LIST DYNET_FAR_LEFT_OUT)
    add_test(NAME far/${name} COMMAND ${program})
    set_tests_properties(far/${name} PROPERTIES ENVIRONMENT "DYNET_TEST_DEVICE=FAR:0")
  endif()
endfunction()
