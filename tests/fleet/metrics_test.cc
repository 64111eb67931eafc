// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/metrics.h"

#include <doctest/doctest.h>

#include "core/error.h"
#include "fleet/metrics_http.h"
#include "fleet/metrics_text.h"
#include "fleet/output.h"
#include "fleet/window_sums.h"
#include "tests/fleet/made_pprof.h"
#include "tests/fleet/made_window.h"

using namespace memflame;
using memflame::tests::made_pprof;
using memflame::tests::made_window;

namespace {

constexpr int64_t minute_ns = 60'000'000'000;

Window metrics_window(int number, const std::string& service, int64_t bytes) {
  Window window = made_window(number, 0, service);
  window.pprof = made_pprof({{{"main", "f"}, bytes, 3, 10, 1}});
  window.head.figures = {{"resident_bytes", 5e6}, {"overhead_percent", 0.5}, {"lost_events", 2}};
  window.head.top = {
      {.function = "f", .stack = "main;f", .inuse_bytes = bytes, .growth_bytes = 7, .verdict = ""}};
  return window;
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

size_t series_in(const std::string& text) {
  size_t series = 0;
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    if (text[at] != '#') ++series;
  return series;
}

}  // namespace

TEST_CASE("sums of a profile") {
  const auto sums =
      sums_of_pprof(made_pprof({{{"main", "f"}, 100, 2, 10, 1}, {{"main", "g"}, 50, -1, 0, 0}}));
  CHECK(sums.at("inuse_space") == 150);
  CHECK(sums.at("inuse_objects") == 1);
  CHECK(sums.at("alloc_space") == 10);
  CHECK_THROWS_AS(sums_of_pprof("nothing of the kind"), Error);
  std::string cut = made_pprof({{{"main"}, 1, 1, 1, 1}});
  cut.resize(cut.size() / 2);
  CHECK_THROWS_AS(sums_of_pprof(cut), Error);
}

TEST_CASE("figures of a service and its stacks") {
  Metrics metrics({});
  metrics.add(metrics_window(1, "checkout", 4000));
  const Window second = metrics_window(2, "checkout", 5000);
  metrics.add(second);
  metrics.add(second);  // a repeat counts once
  const std::string text = metrics.text(MetricsForm::openmetrics, 4 * minute_ns);
  const std::string labels = R"({host="a",service="checkout")";
  CHECK(has_line(text, "memflame_inuse_bytes" + labels + "} 5000"));
  CHECK(has_line(text, "memflame_inuse_objects" + labels + "} 3"));
  CHECK(has_line(text, "memflame_alloc_bytes_total" + labels + "} 20"));
  CHECK(has_line(text, "memflame_lost_events_total" + labels + "} 4"));
  CHECK(has_line(text, "memflame_windows_total" + labels + "} 2"));
  CHECK(has_line(text, "memflame_overhead_ratio" + labels + "} 0.005"));
  CHECK(has_line(text, "memflame_stack_inuse_bytes" + labels + ",function=\"f\",stack=\"" +
                           short_hash("main;f") + "\"} 5000"));
  CHECK(has_line(text, "# TYPE memflame_alloc_bytes counter"));
  CHECK(has_line(text, "# UNIT memflame_alloc_bytes bytes"));
  CHECK(text.ends_with("# EOF\n"));
  const std::string older = metrics.text(MetricsForm::prometheus, 4 * minute_ns);
  CHECK(has_line(older, "# TYPE memflame_alloc_bytes_total counter"));
  CHECK(older.find("# EOF") == std::string::npos);
  CHECK(older.find("# UNIT") == std::string::npos);
}

TEST_CASE("a hash of a stack is the same everywhere") {
  CHECK(short_hash("").size() == 12);
  CHECK(short_hash("main;f") == "3e73e9be2b85");
  CHECK(short_hash("main;f") != short_hash("main;g"));
}

TEST_CASE("a service that has ended is not shown after some windows") {
  Metrics metrics({});
  metrics.add(metrics_window(1, "old", 1000));
  CHECK(metrics.text(MetricsForm::openmetrics, 6 * minute_ns).find("service=\"old\"") !=
        std::string::npos);
  CHECK(metrics.text(MetricsForm::openmetrics, 8 * minute_ns).find("service=\"old\"") ==
        std::string::npos);
  // Its counters go on when it comes back soon, and are forgotten after an hour.
  metrics.forget(10 * minute_ns);
  metrics.add(metrics_window(9, "old", 1000));
  CHECK(has_line(metrics.text(MetricsForm::openmetrics, 10 * minute_ns),
                 R"(memflame_windows_total{host="a",service="old"} 2)"));
  metrics.forget(200 * minute_ns);
  metrics.add(metrics_window(199, "old", 1000));
  CHECK(has_line(metrics.text(MetricsForm::openmetrics, 200 * minute_ns),
                 R"(memflame_windows_total{host="a",service="old"} 1)"));
}

TEST_CASE("series have a bound, and what is left out is counted") {
  Metrics metrics({.max_series = 100});
  for (int service = 0; service < 3; ++service) {
    Window window = metrics_window(1, "service " + std::to_string(service), 1000);
    window.head.top.clear();
    for (int stack = 0; stack < 200; ++stack)
      window.head.top.push_back({.function = "f" + std::to_string(stack),
                                 .stack = "main;f" + std::to_string(stack),
                                 .inuse_bytes = 1000 - stack,
                                 .verdict = stack == 199 ? "leak" : ""});
    metrics.add(window);
  }
  const std::string text = metrics.text(MetricsForm::openmetrics, 2 * minute_ns);
  CHECK(series_in(text) < 100 + 30);
  CHECK(text.find("function=\"f199\"") != std::string::npos);  // a leak goes before all others
  CHECK(text.find("function=\"f0\"") != std::string::npos);
  CHECK(text.find("function=\"f100\"") == std::string::npos);
  CHECK(has_line(text, "memflame_left_out_stacks 580"));
  Metrics few({.max_series = 20});
  for (int service = 0; service < 3; ++service)
    few.add(metrics_window(1, "service " + std::to_string(service), int64_t{1000} * service));
  const std::string less = few.text(MetricsForm::openmetrics, 2 * minute_ns);
  CHECK(less.find("service 2") != std::string::npos);  // the largest
  CHECK(has_line(less, "memflame_left_out_services 2"));
}

TEST_CASE("labels are escaped, and never clash") {
  const MetricLabels labels(
      {{"a-b", "x\"y\\z\n"}, {"a.b", "\x01"}, {"stack", "mine"}, {"__x", ""}, {"9", "ä"}});
  CHECK(labels.text() ==
        "_=\"ä\",label___x=\"\",a_b=\"x\\\"y\\\\z\\n\",a_b_=\"\xef\xbf\xbd\",label_stack=\"mine\"");
  const MetricLabels longer = MetricLabels().with("function", std::string(5000, 'x'));
  CHECK(longer.text().size() < 250);
}

TEST_CASE("the spool's and the outputs' figures") {
  Metrics metrics({});
  FleetFigures figures;
  figures.spool.taken = 10;
  figures.spool.dropped_full = 3;
  figures.spool.outputs["store"] = {.taken = 10, .sent = 4, .dropped = 3, .waiting = 3};
  figures.outputs["store"] = {.failed_tries = 2, .last_error = "away", .oldest_seconds = 61.5};
  metrics.set(figures);
  const std::string text = metrics.text(MetricsForm::openmetrics, 0);
  CHECK(has_line(text, R"(memflame_windows_dropped_total{reason="spool_full"} 3)"));
  CHECK(has_line(text, R"(memflame_output_windows_total{output="store",result="sent"} 4)"));
  CHECK(has_line(text, R"(memflame_output_up{output="store"} 0)"));
  CHECK(has_line(text, R"(memflame_output_oldest_window_seconds{output="store"} 61.5)"));
}

TEST_CASE("names of other sites are not answered") {
  CHECK(is_local_name("127.0.0.1:9754"));
  CHECK(is_local_name("localhost"));
  CHECK(is_local_name("[::1]:9754"));
  CHECK(!is_local_name("evil.example:9754"));
  CHECK(!is_local_name("127.0.0.1.evil.example"));
}

TEST_CASE("settings of the metrics") {
  const auto make = [](const std::string& more) {
    return make_output(Setting::read(R"({"kind": "prometheus")" + more + "}", "watch.json"));
  };
  CHECK(make("") != nullptr);
  CHECK(make(R"(, "listen": "[::1]:9000", "max_series": 5000)") != nullptr);
  for (const char* const wrong :
       {R"(, "listen": "9000")", R"(, "listen": "a:b")", R"(, "listen": "a:70000")",
        R"(, "listen": ":1")", R"(, "max_series": 1)", R"(, "port": 1)"})
    CHECK_THROWS_AS(make(wrong), Error);
}
