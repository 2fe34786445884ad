#include "fibers.h"

#include <cstdint>

// The registers that a function must keep go on the stack, then the stack is another one.
#if defined(__x86_64__)
asm(R"(
.text
.globl cuda_on_host_switch
.type cuda_on_host_switch,@function
cuda_on_host_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size cuda_on_host_switch,.-cuda_on_host_switch
)");
constexpr int kKept = 6;  // registers below the address of return
constexpr int kPlaceOfEnter = 6;
constexpr int kAbove = 1;  // a call has pushed 8 bytes below a multiple of 16
#elif defined(__aarch64__)
asm(R"(
.text
.globl cuda_on_host_switch
.type cuda_on_host_switch,%function
cuda_on_host_switch:
  sub sp, sp, #160
  stp x19, x20, [sp]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size cuda_on_host_switch,.-cuda_on_host_switch
)");
constexpr int kKept = 20;
constexpr int kPlaceOfEnter = 11;  // x30
constexpr int kAbove = 0;
#else
#error "fibers are switched on x86-64 and on 64-bit Arm only"
#endif

namespace cuda_on_host {

void* prepare_stack(std::byte* base, void (*enter)()) {
  auto* const top = reinterpret_cast<std::uint64_t*>(base + kStackBytes) - kAbove;
  std::uint64_t* const place = top - (kPlaceOfEnter == kKept ? kKept + 1 : kKept);
  for (std::uint64_t* word = place; word != top; ++word) {
    *word = 0;
  }
  place[kPlaceOfEnter] = reinterpret_cast<std::uint64_t>(enter);
  return place;
}

}  // namespace cuda_on_host
