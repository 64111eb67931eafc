// SPDX-License-Identifier: BSD-2-Clause
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <iostream>

#include "tests/support/skipped.h"

namespace {

bool any_skipped = false;
bool none_chosen = false;

// A filter that matches no case, for example after a file was renamed, must not look like a test
// that passed.
struct Chosen : doctest::IReporter {
  explicit Chosen(const doctest::ContextOptions&) {}
  void test_run_end(const doctest::TestRunStats& stats) override {
    none_chosen = stats.numTestCasesPassingFilters == 0;
  }
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_case_start(const doctest::TestCaseData&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};
REGISTER_LISTENER("chosen", 1, Chosen);

}  // namespace

void memflame::skip(const std::string& reason) {
  any_skipped = true;
  std::cerr << "SKIPPED: " << reason << "\n";
}

int main(int argc, char** argv) {
  constexpr int skipped = 77;
  const int result = doctest::Context(argc, argv).run();
  if (none_chosen) {
    std::cerr << "no test case was chosen\n";
    return 1;
  }
  return result == 0 && any_skipped ? skipped : result;
}
