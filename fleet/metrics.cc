// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/metrics.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "fleet/metrics_text.h"
#include "fleet/own_metrics.h"
#include "fleet/window_sums.h"

namespace memflame {
namespace {

using Samples = std::vector<std::pair<MetricLabels, double>>;

constexpr size_t known_ids = 16, most_services = 4096;
constexpr double forgotten_after = 3600;  // seconds after a service became stale

enum class From : uint8_t { sums, figures, counters };

struct ServiceFamily {
  MetricFamily family;
  From from;
  std::string_view key;
  double factor = 1;
};

constexpr std::array service_families{
    ServiceFamily{{"memflame_inuse_bytes", false, "bytes", "Live bytes of the service."},
                  From::sums,
                  "inuse_space"},
    ServiceFamily{{"memflame_inuse_objects", false, "", "Live blocks of the service."},
                  From::sums,
                  "inuse_objects"},
    ServiceFamily{{"memflame_alloc_bytes", true, "bytes", "Bytes that the service allocated."},
                  From::counters,
                  "alloc_space"},
    ServiceFamily{{"memflame_alloc_objects", true, "", "Blocks that the service allocated."},
                  From::counters,
                  "alloc_objects"},
    ServiceFamily{{"memflame_resident_bytes", false, "bytes",
                   "Resident memory of the service's processes, as the kernel counts it."},
                  From::figures,
                  "resident_bytes"},
    ServiceFamily{
        {"memflame_processes", false, "", "Processes of the service."}, From::figures, "processes"},
    ServiceFamily{{"memflame_overhead_ratio", false, "ratio",
                   "What memflame costs the service: 0.01 is 1 % of its processor time."},
                  From::figures,
                  "overhead_percent",
                  0.01},
    ServiceFamily{{"memflame_sample_bytes", false, "bytes",
                   "Mean distance of samples; 0 if each allocation is counted."},
                  From::figures,
                  "sample_bytes"},
    ServiceFamily{{"memflame_lost_events", true, "", "Events that memflame did not see."},
                  From::counters,
                  "lost_events"},
    ServiceFamily{{"memflame_lost_bytes", true, "bytes", "Bytes of events without a stack."},
                  From::counters,
                  "lost_bytes"},
    ServiceFamily{{"memflame_cut_stacks", true, "", "Stacks of windows that are not complete."},
                  From::counters,
                  "cut_stacks"}};
constexpr size_t series_of_service = service_families.size() + 2;
constexpr size_t series_of_stack = 3;

double length_of(const WindowHead& head) {
  return std::max(1.0, static_cast<double>(head.ended_ns - head.began_ns) / 1e9);
}

double age_of(const WindowHead& head, int64_t now_ns) {
  return static_cast<double>(now_ns - head.ended_ns) / 1e9;
}

template <class Value>
void add_sample(Samples& samples, const MetricLabels& labels,
                const std::map<std::string, Value>& values, const ServiceFamily& row) {
  const auto at = values.find(std::string(row.key));
  if (at != values.end())
    samples.emplace_back(labels, static_cast<double>(at->second) * row.factor);
}

struct ShownStack {
  const ServiceMetrics* service;
  const WindowStack* stack;
  MetricLabels labels;
};

bool is_leak(const WindowStack& stack) { return stack.verdict == "leak"; }

// The services and stacks that have room, the largest of each.
struct Shown {
  std::vector<const ServiceMetrics*> services;
  std::vector<ShownStack> stacks;
  size_t services_left_out = 0, stacks_left_out = 0;
};

void choose_stacks(Shown& shown, size_t room) {
  std::set<std::string> taken;
  std::vector<ShownStack> all;
  for (const ServiceMetrics* const service : shown.services) {
    const MetricLabels labels(service->head.labels);
    for (const WindowStack& stack : service->head.top) {
      MetricLabels own =
          labels.with("function", stack.function).with("stack", short_hash(stack.stack));
      if (taken.insert(own.text()).second) all.push_back({service, &stack, std::move(own)});
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const ShownStack& a, const ShownStack& b) {
    return std::tuple(!is_leak(*a.stack), -a.stack->inuse_bytes) <
           std::tuple(!is_leak(*b.stack), -b.stack->inuse_bytes);
  });
  shown.stacks_left_out = all.size() - std::min(all.size(), room / series_of_stack);
  all.resize(all.size() - shown.stacks_left_out);
  shown.stacks = std::move(all);
}

void write_services(MetricsText& text, const Shown& shown) {
  for (const ServiceFamily& row : service_families) {
    Samples samples;
    for (const ServiceMetrics* const service : shown.services) {
      const MetricLabels labels(service->head.labels);
      if (row.from == From::sums) add_sample(samples, labels, service->sums, row);
      if (row.from == From::figures) add_sample(samples, labels, service->head.figures, row);
      if (row.from == From::counters) add_sample(samples, labels, service->counters, row);
    }
    text.write(row.family, samples);
  }
  Samples windows, ends;
  for (const ServiceMetrics* const service : shown.services) {
    const MetricLabels labels(service->head.labels);
    windows.emplace_back(labels, static_cast<double>(service->windows));
    ends.emplace_back(labels, static_cast<double>(service->head.ended_ns) / 1e9);
  }
  text.write({"memflame_windows", true, "", "Windows of the service."}, windows);
  text.write({"memflame_window_end_timestamp_seconds", false, "seconds",
              "When the newest window of the service ended."},
             ends);
}

void write_stacks(MetricsText& text, const Shown& shown) {
  Samples live, growth, rates;
  for (const ShownStack& one : shown.stacks) {
    live.emplace_back(one.labels, static_cast<double>(one.stack->inuse_bytes));
    growth.emplace_back(one.labels, static_cast<double>(one.stack->growth_bytes));
    if (!one.stack->verdict.empty())
      rates.emplace_back(one.labels.with("verdict", one.stack->verdict), one.stack->bytes_per_hour);
  }
  text.write({"memflame_stack_inuse_bytes", false, "bytes",
              "Live bytes of a stack; its label stack is a hash of its functions."},
             live);
  text.write({"memflame_stack_growth_bytes", false, "bytes",
              "What the live bytes of a stack grew by in its newest window."},
             growth);
  text.write({"memflame_stack_bytes_per_hour", false, "",
              "Growth of a stack that does not come back, for stacks with a verdict."},
             rates);
  text.write({"memflame_left_out_stacks", false, "", "Stacks beyond max_series."},
             {{{}, static_cast<double>(shown.stacks_left_out)}});
  text.write({"memflame_left_out_services", false, "", "Services beyond max_series."},
             {{{}, static_cast<double>(shown.services_left_out)}});
}

}  // namespace

std::string short_hash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a, 64 bits
  for (const char letter : text)
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  std::string digits;
  for (unsigned shift = 48; shift != 0;) {
    shift -= 4;
    digits += "0123456789abcdef"[((hash ^ (hash >> 48U)) >> shift) & 15U];
  }
  return digits;
}

void Metrics::add(const Window& window) {
  std::map<std::string, int64_t> sums = sums_of_pprof(window.pprof);
  const auto at = services_.find(window.head.labels);
  if (at == services_.end() && services_.size() >= most_services) {
    ++untracked_;
    return;
  }
  ServiceMetrics& service = services_[window.head.labels];
  if (std::find(service.ids.begin(), service.ids.end(), window.head.id) != service.ids.end())
    return;
  service.ids.push_back(window.head.id);
  if (service.ids.size() > known_ids) service.ids.pop_front();
  ++service.windows;
  for (const ServiceFamily& row : service_families) {
    if (row.from != From::counters) continue;
    const std::string key(row.key);
    double value = 0;
    if (const auto sum = sums.find(key); sum != sums.end())
      value = static_cast<double>(sum->second);
    if (const auto figure = window.head.figures.find(key); figure != window.head.figures.end())
      value = figure->second;
    service.counters[key] += std::max(0.0, value);
  }
  if (service.head.ended_ns > window.head.ended_ns) return;  // it came late
  service.head = window.head;
  service.sums = std::move(sums);
}

void Metrics::forget(int64_t now_ns) {
  std::erase_if(services_, [&](const auto& service) {
    const WindowHead& head = service.second.head;
    return age_of(head, now_ns) > options_.stale_windows * length_of(head) + forgotten_after;
  });
}

std::string Metrics::text(MetricsForm form, int64_t now_ns) const {
  Shown shown;
  for (const auto& [labels, service] : services_)
    if (age_of(service.head, now_ns) <= options_.stale_windows * length_of(service.head))
      shown.services.push_back(&service);
  const auto live = [](const ServiceMetrics* service) {
    const auto at = service->sums.find("inuse_space");
    return at == service->sums.end() ? 0 : at->second;
  };
  std::stable_sort(shown.services.begin(), shown.services.end(),
                   [&](const auto* a, const auto* b) { return live(a) > live(b); });
  const size_t fitting = std::min(shown.services.size(), options_.max_series / series_of_service);
  shown.services_left_out = shown.services.size() - fitting;
  shown.services.resize(fitting);
  choose_stacks(shown, options_.max_series - fitting * series_of_service);

  MetricsText text(form);
  write_services(text, shown);
  write_stacks(text, shown);
  text.write({"memflame_left_out_windows", true, "", "Windows of too many services."},
             {{{}, static_cast<double>(untracked_)}});
  write_own_metrics(text, figures_);
  return text.finish();
}

}  // namespace memflame
