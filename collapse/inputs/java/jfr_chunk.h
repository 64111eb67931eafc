// SPDX-License-Identifier: BSD-2-Clause
// A recording of Java Flight Recorder consists of chunks, each complete in itself: a header,
// events, among them the pools of values that other events refer to, and a description of all
// types.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "collapse/inputs/java/jfr_bytes.h"
#include "collapse/inputs/java/jfr_types.h"
#include "collapse/source/source.h"

namespace memflame {

struct JfrChunk {
  static constexpr std::string_view magic{"FLR\0", 4};
  static constexpr size_t header_size = 68;
  // Types of events that are the same in each recording.
  static constexpr int64_t metadata = 0, checkpoint = 1;

  std::string bytes;
  uint64_t stated = 0;  // its size by its header; 0 if the recording was not finished
  int64_t began_ns = 0, duration_ns = 0;

  bool is_cut() const { return bytes.size() < stated || stated == 0; }

  // Reads the next one; false at the end of the input, or if something else is there (then `bytes`
  // has the begin of it). Throws Error if it is of a version that is not read.
  bool read(Source& source);

  // Calls `take(type, event)` for each event, behind its size and type. Returns how many bytes at
  // the end are not an event.
  template <class Take>
  size_t each_event(Take take) const {
    std::string_view rest = std::string_view(bytes).substr(header_size);
    while (!rest.empty()) {
      JfrBytes event(rest);
      const int64_t size = event.number();
      if (!event.good() || size < 2 || static_cast<uint64_t>(size) > rest.size()) break;
      const size_t head = rest.size() - event.rest().size();
      event = JfrBytes(rest.substr(0, static_cast<size_t>(size)).substr(head));
      const int64_t type = event.number();
      if (event.good()) take(type, event);
      rest.remove_prefix(static_cast<size_t>(size));
    }
    return rest.size();
  }
};

// The values in a chunk's pools. They are read when they are asked for.
class JfrPools {
 public:
  explicit JfrPools(const JfrTypes& types) : types_(types) {}

  // Takes in a checkpoint, behind its size and type. Returns false if it is damaged.
  bool add(JfrBytes event);

  // The value of a key in the pool of a type; false if there is none.
  bool row(int64_t type, int64_t key, JfrRow& row) const;
  // A field that is a text or a symbol; "" if there is none.
  std::string text(const JfrRow& row, std::string_view field) const;

 private:
  std::string plain_text(const JfrRow& row, std::string_view field) const;

  using Pool = std::unordered_map<int64_t, JfrBytes, NumberHash>;
  const JfrTypes& types_;
  std::unordered_map<int64_t, Pool, NumberHash> pools_;
};

}  // namespace memflame
