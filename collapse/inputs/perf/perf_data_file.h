// SPDX-License-Identifier: BSD-2-Clause
// The file that `perf record` writes, or its output to a pipe, as records. (Layout:
// tools/perf/Documentation/perf.data-file-format.txt; records: linux/perf_event.h.)
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collapse/source/source.h"

namespace memflame {

// Takes numbers off the front of some bytes. Once one did not fit, nothing more does.
class PerfBytes {
 public:
  explicit PerfBytes(std::string_view bytes) : rest_(bytes) {}

  template <class T>
  bool take(T& value) {
    if (rest_.size() < sizeof value) return fail();
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return true;
  }
  template <class T>
  T number() {  // 0 if it did not fit
    T value{};
    take(value);
    return value;
  }
  std::string_view bytes(uint64_t size) {
    if (rest_.size() < size) {
      fail();
      return {};
    }
    const std::string_view found = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return found;
  }
  // Text up to a zero byte, or to the end of the bytes.
  std::string_view text() const { return rest_.substr(0, rest_.find('\0')); }
  std::string_view rest() const { return rest_; }
  bool good() const { return good_; }

 private:
  bool fail() {
    good_ = false;
    rest_ = {};
    return false;
  }
  std::string_view rest_;
  bool good_ = true;
};

struct PerfEvent {
  perf_event_attr attr{};
  std::string name;  // "page-faults"
};

struct PerfRecord {
  uint64_t time = 0;  // by the recording's clock; 0 if unknown, as for what existed before
  std::string_view body;
  uint32_t type = 0;
  uint16_t misc = 0;
};

struct PerfFile {
  std::vector<PerfEvent> events;
  std::unordered_map<uint64_t, uint32_t> event_of_id;
  std::map<std::string, std::string, std::less<>> build_ids;  // of files, by name, lower-case hex
  std::string host, release, command;
  std::vector<PerfRecord> records;  // in order of time; views of `blocks`
  std::string cut;                  // why it is incomplete; "" if it is whole

  std::vector<std::unique_ptr<const std::string>> blocks;

  // The event of a sample, by its id; the first event if records have no ids. SIZE_MAX: unknown.
  size_t event_of(const PerfRecord& sample) const;
};

// Lower-case hex of a build id, without the zeros that pad an id of 16 bytes to 20.
std::string perf_build_id(std::string_view bytes);

// Throws Error if it is not such a file, or one that cannot be read here.
PerfFile read_perf_file(Source& source);

// Takes one feature, which is a part of the header or, in a pipe, a record of its own.
void take_perf_feature(PerfFile& file, uint64_t feature, std::string_view bytes);
void take_perf_attr(PerfFile& file, std::string_view attr, std::string_view ids);
void name_perf_events(PerfFile& file);  // those without a name so far

}  // namespace memflame
