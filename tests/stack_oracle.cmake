# SPDX-License-Identifier: BSD-2-Clause
add_subdirectory(stack_oracle)
memflame_test(stack_oracle LIBS memflame_oracle)
