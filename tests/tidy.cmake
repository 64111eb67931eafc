# SPDX-License-Identifier: BSD-2-Clause
# Tests of collapse/tidy/.
foreach(stem tidy_allocators tidy_filters tidy_frames tidy_names)
  memflame_test(${stem} LIBS memflame_collapse)
endforeach()
