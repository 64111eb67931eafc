// SPDX-License-Identifier: BSD-2-Clause
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <iostream>

#include "skipped.h"

namespace {

bool any_skipped = false;

}  // namespace

void memflame::skip(const std::string& reason) {
  any_skipped = true;
  std::cerr << "SKIPPED: " << reason << "\n";
}

int main(int argc, char** argv) {
  constexpr int skipped = 77;
  const int result = doctest::Context(argc, argv).run();
  return result == 0 && any_skipped ? skipped : result;
}
