// SPDX-License-Identifier: BSD-2-Clause
// What a store answers, and a file of a spool: rows of stacks, and the head of a window. The first
// byte says which.
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/profile.h"
#include "fleet/clickhouse/stack_row.h"
#include "fleet/window.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): a program of its own

namespace {

void read_rows(std::string_view bytes) {
  Profile profile;
  profile.types = {{"inuse_space", Unit::bytes}};
  for (RowReader rows(bytes); !rows.at_end();) {
    const StackId stack = read_stack_row(rows, profile, true);
    if (profile.path(stack).size() > bytes.size()) std::abort();
    // What can be read can be written, and means the same then.
    const std::string again = stack_row(profile, stack);
    RowReader other(again);
    Profile copy;
    copy.types = profile.types;
    if (stack_row(copy, read_stack_row(other, copy, true)) != again) std::abort();
  }
}

void read_window(std::string_view bytes) {
  const Window window = window_from_bytes(bytes);
  if (window_from_bytes(to_bytes(window)).head.id != window.head.id) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    if (data[0] % 2 == 0)
      read_rows(bytes);
    else
      read_window(bytes);
  } catch (const Error&) {
    // It is damaged.
  }
  return 0;
}
