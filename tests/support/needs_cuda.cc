// For tests/no_cuda.cmake: a library that has a symbol of CUDA, and one that calls it.

extern "C" int cuda_count_of_tests(int* count);

#ifdef DYNET_IS_CUDA
int cuda_count_of_tests(int* count) {
  *count = 0;
  return 0;
}
#else
extern "C" int dynet_count_of_cuda() {
  int count = 1;
  return cuda_count_of_tests(&count) + count;
}
#endif
