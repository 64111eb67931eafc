// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/perf/perf_data_file.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <bit>

#include "core/error.h"

namespace memflame {
namespace {

constexpr std::string_view perf_data_magic = "PERFILE2";
constexpr size_t header_size = 104;
constexpr size_t attr_size_min = 64;  // PERF_ATTR_SIZE_VER0
constexpr size_t max_events = 512;
constexpr size_t max_unpacked = size_t{4} << 30U;

// Types of records that perf itself adds; those of the kernel are smaller numbers.
enum UserRecord : uint32_t {
  user_record_start = 64,
  header_attr = 64,
  header_tracing_data = 66,
  header_build_id = 67,
  auxtrace = 71,
  event_update = 78,
  header_feature = 80,
  compressed = 81,
  compressed2 = 83,
};

struct Section {
  uint64_t offset = 0, size = 0;
};

// The part of the section that the file holds.
std::string_view part(std::string_view file, Section section) {
  if (section.offset >= file.size()) return {};
  return file.substr(section.offset, section.size);
}

// Distance from the end of a record that is not a sample to its time; 0 if it has none.
size_t time_from_end(const perf_event_attr& attr) {
  if (attr.sample_id_all == 0 || (attr.sample_type & PERF_SAMPLE_TIME) == 0) return 0;
  constexpr uint64_t behind =
      PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
  return 8 * (1 + static_cast<size_t>(std::popcount(attr.sample_type & behind)));
}

// Offset in a sample of a field of 8 bytes; `field` is one of those before PERIOD.
size_t offset_in_sample(const perf_event_attr& attr, uint64_t field) {
  constexpr std::array order{PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP,   PERF_SAMPLE_TID,
                             PERF_SAMPLE_TIME,       PERF_SAMPLE_ADDR, PERF_SAMPLE_ID};
  size_t offset = 0;
  for (const uint64_t each : order) {
    if (each == field) return offset;
    if ((attr.sample_type & each) != 0) offset += 8;
  }
  return offset;
}

uint64_t number_at(std::string_view bytes, size_t offset) {
  if (bytes.size() < 8 || offset > bytes.size() - 8) return 0;
  uint64_t number = 0;
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

class FileReader {
 public:
  explicit FileReader(Source& source) : source_(source) {}

  PerfFile run() {
    file_.blocks.push_back(std::make_unique<const std::string>(source_.all()));
    const std::string_view all = *file_.blocks.back();
    check_magic(all);
    PerfBytes header(all.substr(perf_data_magic.size()));
    const auto size = header.number<uint64_t>();
    if (!header.good()) source_.fail("it ends in its header");
    if (size == 16)
      take_records(all.substr(16));
    else
      take_file(all, size);
    name_perf_events(file_);
    if (!rest_.empty()) cut("its last packed block is not whole");
    const auto earlier = [](const PerfRecord& a, const PerfRecord& b) { return a.time < b.time; };
    std::stable_sort(file_.records.begin(), file_.records.end(), earlier);
    return std::move(file_);
  }

 private:
  void check_magic(std::string_view all) const {
    if (all.starts_with(perf_data_magic)) return;
    if (all.starts_with("2ELIFREP"))
      source_.fail("it was written by a big-endian machine: use perf script there");
    if (all.starts_with("PERFFILE")) source_.fail("its format is that of perf before 2010");
    source_.fail("it does not begin with PERFILE2");
  }

  void cut(const std::string& why) {
    if (file_.cut.empty()) file_.cut = why;
  }

  void take_file(std::string_view all, uint64_t size) {
    if (size < header_size || all.size() < header_size) source_.fail("it ends in its header");
    PerfBytes header(all.substr(16));
    const auto attr_size = header.number<uint64_t>();
    const auto attrs = header.number<Section>();
    auto data = header.number<Section>();
    header.number<Section>();  // event types, no longer used
    const auto features = header.number<std::array<uint64_t, 4>>();
    take_attrs(all, attr_size, attrs);
    const bool closed = data.size != 0;
    if (!closed) {
      cut("perf record was not ended properly");
      data.size = UINT64_MAX;
    }
    const std::string_view records = part(all, data);
    if (closed && records.size() < data.size) cut("it ends in the middle");
    if (closed && records.size() == data.size) take_features(all, data, features);
    take_records(records);
  }

  // Takes the attributes; each row ends with the place of its ids.
  void take_attrs(std::string_view all, uint64_t attr_size, Section section) {
    if (attr_size < attr_size_min + sizeof(Section) || attr_size > 4096)
      source_.fail("its attributes are of an unknown size");
    PerfBytes rows(part(all, section));
    size_t bytes = 0;
    while (rows.rest().size() >= attr_size) {
      const std::string_view row = rows.bytes(attr_size);
      const std::string_view attr = row.substr(0, attr_size - sizeof(Section));
      PerfBytes section_of_ids(row.substr(attr.size()));
      const std::string_view ids = part(all, section_of_ids.number<Section>());
      if ((bytes += ids.size()) > all.size()) source_.fail("its lists of ids overlap");
      add_attr(attr, ids);
    }
  }

  void add_attr(std::string_view attr, std::string_view ids) {
    if (file_.events.size() >= max_events) source_.fail("it has more than 512 events");
    take_perf_attr(file_, attr, ids);
  }

  // The sections of the set bits follow each other after the data.
  void take_features(std::string_view all, Section data, const std::array<uint64_t, 4>& bits) {
    PerfBytes table(all.substr(data.offset + data.size));
    for (uint64_t feature = 0; feature < 256; ++feature) {
      if ((bits[feature / 64] >> (feature % 64) & 1U) == 0) continue;
      const auto section = table.number<Section>();
      if (!table.good()) return;
      take_perf_feature(file_, feature, part(all, section));
    }
  }

  // Returns the rest: less than a record.
  std::string_view take_records(std::string_view bytes, bool packed = false) {
    while (bytes.size() >= 8) {
      PerfBytes header(bytes);
      PerfRecord record;
      header.take(record.type);
      header.take(record.misc);
      const auto size = header.number<uint16_t>();
      if (size < 8) {
        cut("a record of less than its header");
        return {};
      }
      if (bytes.size() < size) break;
      record.body = bytes.substr(8, size - 8U);
      bytes.remove_prefix(size);
      if (record.type >= user_record_start)
        bytes.remove_prefix(std::min(bytes.size(), take_user_record(record, packed)));
      else
        keep(record);
    }
    if (!bytes.empty() && !packed) cut("its last record is not whole");
    return bytes;
  }

  void keep(PerfRecord record) {
    if (record.type == PERF_RECORD_SAMPLE) {
      const size_t event = file_.event_of(record);
      if (event < file_.events.size()) {
        const perf_event_attr& attr = file_.events[event].attr;
        if ((attr.sample_type & PERF_SAMPLE_TIME) != 0)
          record.time = number_at(record.body, offset_in_sample(attr, PERF_SAMPLE_TIME));
      }
    } else if (!file_.events.empty()) {
      const size_t from_end = time_from_end(file_.events.front().attr);
      if (from_end != 0 && record.body.size() >= from_end)
        record.time = number_at(record.body, record.body.size() - from_end);
    }
    file_.records.push_back(record);
  }

  // Returns how many bytes after the record belong to it.
  size_t take_user_record(const PerfRecord& record, bool packed) {
    PerfBytes body(record.body);
    switch (record.type) {
      case header_attr: {
        const uint32_t size = static_cast<uint32_t>(number_at(record.body, 0) >> 32U);
        if (size < attr_size_min || size > record.body.size()) return 0;
        add_attr(record.body.substr(0, size), record.body.substr(size));
        return 0;
      }
      case header_build_id: {
        // One row of the section with the same name.
        const auto size = static_cast<uint16_t>(record.body.size() + 8);
        std::string row(8, '\0');
        std::memcpy(row.data() + 4, &record.misc, sizeof record.misc);
        std::memcpy(row.data() + 6, &size, sizeof size);
        take_perf_feature(file_, 2, row + std::string(record.body));
        return 0;
      }
      case header_tracing_data:
        return (size_t{body.number<uint32_t>()} + 7) / 8 * 8;
      case auxtrace:
        return body.number<uint64_t>();
      case event_update: {
        constexpr uint64_t name = 2;
        if (body.number<uint64_t>() != name) return 0;
        const auto event = file_.event_of_id.find(body.number<uint64_t>());
        if (event != file_.event_of_id.end()) file_.events[event->second].name = body.text();
        return 0;
      }
      case header_feature: {
        const auto feature = body.number<uint64_t>();
        take_perf_feature(file_, feature, body.rest());
        return 0;
      }
      case compressed:
        if (!packed) unpack(record.body);
        return 0;
      case compressed2:
        if (!packed) unpack(body.bytes(body.number<uint64_t>()));
        return 0;
      default:
        return 0;
    }
  }

  // Blocks are parts of one stream; a record may begin in one and end in the next.
  void unpack(std::string_view bytes) {
    if (!unpacker_) unpacker_.reset(ZSTD_createDCtx());
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    while (true) {
      ZSTD_outBuffer out{room_.data(), room_.size(), 0};
      const size_t result = ZSTD_decompressStream(unpacker_.get(), &out, &in);
      rest_.append(room_, 0, out.pos);
      if (ZSTD_isError(result) != 0) {
        cut(std::string("a packed block is damaged: ") + ZSTD_getErrorName(result));
        break;
      }
      unpacked_ += out.pos;
      if (unpacked_ > max_unpacked) source_.fail("its packed blocks hold more than 4 GiB");
      if (in.pos == in.size && out.pos < out.size) break;
    }
    if (!begins_with_record(rest_)) return;
    file_.blocks.push_back(std::make_unique<const std::string>(std::move(rest_)));
    rest_ = take_records(*file_.blocks.back(), true);
  }

  static bool begins_with_record(std::string_view bytes) {
    return bytes.size() >= 8 && (number_at(bytes, 0) >> 48U) <= bytes.size();
  }

  struct FreeUnpacker {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };

  Source& source_;
  PerfFile file_;
  std::unique_ptr<ZSTD_DCtx, FreeUnpacker> unpacker_;
  std::string rest_;  // of the packed blocks, less than a record
  std::string room_ = std::string(ZSTD_DStreamOutSize(), '\0');
  size_t unpacked_ = 0;
};

}  // namespace

size_t PerfFile::event_of(const PerfRecord& sample) const {
  if (events.empty()) return SIZE_MAX;
  if (events.size() == 1) return 0;
  // All events of a file have their ids at the same place.
  const perf_event_attr& attr = events.front().attr;
  const uint64_t field = (attr.sample_type & PERF_SAMPLE_IDENTIFIER) != 0
                             ? uint64_t{PERF_SAMPLE_IDENTIFIER}
                             : uint64_t{PERF_SAMPLE_ID};
  if ((attr.sample_type & field) == 0) return 0;
  const auto found = event_of_id.find(number_at(sample.body, offset_in_sample(attr, field)));
  return found == event_of_id.end() ? SIZE_MAX : found->second;
}

PerfFile read_perf_file(Source& source) { return FileReader(source).run(); }

}  // namespace memflame
