// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/java/jfr_chunk.h"

#include <algorithm>

namespace memflame {

bool JfrChunk::read(Source& source) {
  bytes.resize(header_size);
  bytes.resize(source.read(bytes.data(), bytes.size()));
  if (!std::string_view(bytes).starts_with(magic)) return false;
  JfrBytes header(std::string_view(bytes).substr(magic.size()));
  const uint64_t major = header.fixed(2), minor = header.fixed(2);
  stated = header.fixed(8);
  header.bytes(16);  // where its last pools and its types are; they are found on the way
  began_ns = static_cast<int64_t>(header.fixed(8));
  duration_ns = static_cast<int64_t>(header.fixed(8));
  header.bytes(16);  // ticks
  constexpr uint64_t compressed = 1;
  const uint64_t flags = header.fixed(4);
  if (!header.good()) {
    stated = std::max(stated, uint64_t{header_size});
    return true;
  }
  if (major != 2)
    source.fail("its version is " + std::to_string(major) + "." + std::to_string(minor) +
                ", and only 2 is read, which JDK 9 and 8u262 brought");
  if ((flags & compressed) == 0) source.fail("its numbers are not compressed, which is not read");
  if (stated < header_size) stated = 0;
  const uint64_t wanted = stated == 0 ? UINT64_MAX : stated;
  constexpr size_t block = size_t{1} << 20U;
  while (bytes.size() < wanted) {  // what the header says may be wrong: memory grows with the data
    const size_t before = bytes.size();
    const auto part =
        static_cast<size_t>(std::min<uint64_t>(wanted - before, std::max(block, before)));
    bytes.resize(before + part);
    const size_t got = source.read(bytes.data() + before, part);
    bytes.resize(before + got);
    if (got < part) break;
  }
  return true;
}

bool JfrPools::add(JfrBytes event) {
  for (int i = 0; i < 3; ++i) event.number();  // begin, duration, where the one before is
  event.flag();                                // what it was written for
  for (size_t left = event.count(); left != 0 && event.good(); --left) {
    const int64_t type = event.number();
    Pool& pool = pools_[type];
    for (size_t values = event.count(); values != 0 && event.good(); --values) {
      const int64_t key = event.number();
      pool.try_emplace(key, event);
      types_.skip(type, event);
    }
  }
  return event.good();
}

bool JfrPools::row(int64_t type, int64_t key, JfrRow& row) const {
  const JfrType* known = types_.find(type);
  const auto pool = pools_.find(type);
  if (known == nullptr || pool == pools_.end()) return false;
  const auto value = pool->second.find(key);
  if (value == pool->second.end()) return false;
  JfrBytes bytes = value->second;
  types_.read_row(*known, bytes, row);
  return bytes.good();
}

std::string JfrPools::text(const JfrRow& row, std::string_view field) const {
  const JfrRow::Cell* cell = row.find(field);
  if (cell == nullptr) return {};
  const JfrField& of = row.field(*cell);
  const JfrType* type = types_.find(of.type);
  if (type == nullptr || type->form == JfrType::Form::text || !of.pooled)
    return plain_text(row, field);
  JfrRow symbol;
  return this->row(of.type, cell->number, symbol) ? plain_text(symbol, "string") : std::string();
}

std::string JfrPools::plain_text(const JfrRow& row, std::string_view field) const {
  const JfrRow::Cell* cell = row.find(field);
  if (cell == nullptr) return {};
  const JfrField& of = row.field(*cell);
  const JfrType* type = types_.find(of.type);
  if (type == nullptr || type->form != JfrType::Form::text || of.array) return {};
  int64_t key = cell->number;
  if (!of.pooled) {
    std::string text = cell->at.text(key);
    if (key == -1) return text;
  }
  const auto pool = pools_.find(of.type);
  if (pool == pools_.end()) return {};
  const auto value = pool->second.find(key);
  return value == pool->second.end() ? std::string() : value->second.text(key);
}

}  // namespace memflame
