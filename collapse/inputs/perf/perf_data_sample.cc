// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/perf/perf_data_sample.h"

#include <bit>

namespace memflame {
namespace {

void skip_counters(PerfBytes& bytes, uint64_t format) {
  constexpr uint64_t times = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  constexpr uint64_t per_value = PERF_FORMAT_ID | PERF_FORMAT_LOST;
  const auto in_value = 1 + static_cast<uint64_t>(std::popcount(format & per_value));
  const bool group = (format & PERF_FORMAT_GROUP) != 0;
  const uint64_t values = group ? bytes.number<uint64_t>() : 1;
  if (values > bytes.rest().size()) {
    bytes.bytes(UINT64_MAX);
    return;
  }
  bytes.bytes(8 * (static_cast<uint64_t>(std::popcount(format & times)) + values * in_value));
}

// Marks in a chain, PERF_CONTEXT_*, tell whether the addresses after them are the kernel's or the
// program's.
bool is_mark(uint64_t entry) { return entry >= static_cast<uint64_t>(PERF_CONTEXT_MAX); }

void take_chain(std::string_view chain, bool in_kernel, PerfSample& sample) {
  std::vector<uint64_t>* into = in_kernel ? &sample.kernel : &sample.user;
  PerfBytes entries(chain);
  for (uint64_t entry = 0; entries.take(entry);) {
    if (!is_mark(entry)) {
      if (into != nullptr) into->push_back(entry);
      continue;
    }
    into = nullptr;  // addresses of a guest, or unknown ones
    if (entry == static_cast<uint64_t>(PERF_CONTEXT_KERNEL)) into = &sample.kernel;
    if (entry == static_cast<uint64_t>(PERF_CONTEXT_USER)) into = &sample.user;
  }
}

}  // namespace

bool parse_perf_sample(const PerfRecord& record, const perf_event_attr& attr, PerfSample& sample) {
  const auto has = [&](uint64_t field) { return (attr.sample_type & field) != 0; };
  sample.kernel.clear();
  sample.user.clear();
  sample.pid = sample.tid = 0;
  PerfBytes bytes(record.body);
  if (has(PERF_SAMPLE_IDENTIFIER)) bytes.number<uint64_t>();
  const uint64_t ip = has(PERF_SAMPLE_IP) ? bytes.number<uint64_t>() : 0;
  if (has(PERF_SAMPLE_TID)) {
    sample.pid = bytes.number<uint32_t>();
    sample.tid = bytes.number<uint32_t>();
  }
  for (const uint64_t field :
       {PERF_SAMPLE_TIME, PERF_SAMPLE_ADDR, PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU})
    if (has(field)) bytes.number<uint64_t>();
  sample.period = attr.freq != 0 ? 1 : attr.sample_period;
  if (has(PERF_SAMPLE_PERIOD)) bytes.take(sample.period);
  if (has(PERF_SAMPLE_READ)) skip_counters(bytes, attr.read_format);
  const bool in_kernel = (record.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
  if (has(PERF_SAMPLE_CALLCHAIN)) {
    const auto count = bytes.number<uint64_t>();
    if (count > bytes.rest().size() / 8) return false;
    take_chain(bytes.bytes(count * 8), in_kernel, sample);
  }
  if (sample.kernel.empty() && sample.user.empty() && has(PERF_SAMPLE_IP))
    (in_kernel ? sample.kernel : sample.user).push_back(ip);
  return bytes.good();
}

}  // namespace memflame
