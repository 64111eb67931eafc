// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <protozero/pbf_writer.hpp>

#include "core/error.h"
#include "core/gzip.h"
#include "core/pprof.h"
#include "fleet/outputs/otlp_message.h"
#include "fleet/outputs/push.h"
#include "tests/fleet/made_pprof.h"
#include "tests/fleet/made_window.h"

using namespace memflame;
using memflame::tests::made_pprof;
using memflame::tests::made_window;

namespace {

Window otlp_window(std::string pprof) {
  Window window = made_window(1);
  window.pprof = std::move(pprof);
  return window;
}

// A store's answer that N profiles are rejected.
std::string answer_with(int64_t rejected, const std::string& why) {
  std::string message;
  protozero::pbf_writer response(message);
  protozero::pbf_writer partial(response, 1);
  if (rejected != 0) partial.add_int64(1, rejected);
  partial.add_string(2, why);
  return message;
}

}  // namespace

// tests/e2e/fleet_push.py compares what is in the message.
TEST_CASE("a window becomes the same request each time") {
  const Window window = otlp_window(made_pprof({{{"main", "f"}, 100, 2, 10, 1}}));
  CHECK(otlp_request(window) == otlp_request(window));
  CHECK(otlp_request(window).find("memflame") != std::string::npos);
}

TEST_CASE("damaged profiles are errors, wherever they are damaged") {
  CHECK_THROWS_AS(otlp_request(otlp_window("")), Error);
  CHECK_THROWS_AS(otlp_request(otlp_window(gzip_body("\x0a\xff\xff"))), Error);
  // A text that is not there.
  std::string message;
  protozero::pbf_writer profile(message);
  {
    protozero::pbf_writer type(profile, pprof::profile_sample_type);
    type.add_int64(pprof::value_type_type, 99);
  }
  CHECK_THROWS_AS(otlp_request(otlp_window(gzip_body(message))), Error);
  // A sample of locations that are not there has empty frames.
  message.clear();
  {
    protozero::pbf_writer type(profile, pprof::profile_sample_type);
    type.add_int64(pprof::value_type_type, 0);
  }
  profile.add_string(pprof::profile_string_table, "");
  {
    protozero::pbf_writer sample(profile, pprof::profile_sample);
    const uint64_t location = 77;
    const int64_t value = 1;
    sample.add_packed_uint64(pprof::sample_location_id, &location, &location + 1);
    sample.add_packed_int64(pprof::sample_value, &value, &value + 1);
  }
  CHECK(!otlp_request(otlp_window(gzip_body(message))).empty());
}

TEST_CASE("what a store answers about rejected profiles") {
  CHECK(otlp_rejection("") == "");
  CHECK(otlp_rejection(answer_with(0, "a warning")) == "");
  CHECK(otlp_rejection(answer_with(3, "too old")) == "the store rejects 3 profiles: too old");
  CHECK(otlp_rejection("<html>") == "");
}

TEST_CASE("names of labels that stores take") {
  CHECK(plain_label_name("a-b.c") == "a_b_c");
  CHECK(plain_label_name("9") == "_");
  CHECK(plain_label_name("") == "label_");
  CHECK(plain_label_name("__name__") == "label___name__");
}
