// SPDX-License-Identifier: BSD-2-Clause
// Recordings of Java Flight Recorder: its events of allocations, and of objects that were kept. The
// other events are passed over. Memory is that of the largest chunk, and of the stacks.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "collapse/inputs/java/jfr_chunk.h"
#include "collapse/inputs/java/jfr_names.h"
#include "collapse/inputs/readers.h"
#include "core/error.h"
#include "core/units.h"

namespace memflame {
namespace {

enum JfrColumn : uint8_t {
  jfr_allocated,
  jfr_samples,
  jfr_tlabs,
  jfr_tlab_objects,
  jfr_tlab_events,
  jfr_kept,
  jfr_kept_objects,
  jfr_columns
};

// A field of an event, and the column that it is added to.
struct JfrFigure {
  std::string_view event, field;
  JfrColumn column;
};

// "" stands for 1.
constexpr std::array jfr_figures{
    JfrFigure{"jdk.ObjectAllocationSample", "weight", jfr_allocated},
    JfrFigure{"jdk.ObjectAllocationSample", "", jfr_samples},
    JfrFigure{"jdk.ObjectAllocationInNewTLAB", "tlabSize", jfr_tlabs},
    JfrFigure{"jdk.ObjectAllocationInNewTLAB", "allocationSize", jfr_tlab_objects},
    JfrFigure{"jdk.ObjectAllocationInNewTLAB", "", jfr_tlab_events},
    JfrFigure{"jdk.ObjectAllocationOutsideTLAB", "allocationSize", jfr_tlabs},
    JfrFigure{"jdk.ObjectAllocationOutsideTLAB", "allocationSize", jfr_tlab_objects},
    JfrFigure{"jdk.ObjectAllocationOutsideTLAB", "", jfr_tlab_events},
    JfrFigure{"jdk.OldObjectSample", "objectSize", jfr_kept},
    JfrFigure{"jdk.OldObjectSample", "", jfr_kept_objects},
};

using JfrSums = std::array<int64_t, jfr_columns>;

class JfrReader {
 public:
  JfrReader(Source& source, const ReadOptions& options) : source_(source), options_(options) {}

  Profile run() {
    JfrChunk chunk;
    while (chunk.read(source_)) take(chunk);
    if (!chunk.bytes.empty())
      issues_.add("bytes behind the last chunk", 0, std::to_string(chunk.bytes.size()));
    if (chunks_ == 0) source_.fail("it is not a recording of Java Flight Recorder");
    if (order_.empty()) fail_empty();
    add_all();
    describe();
    issues_.finish(profile_);
    return std::move(profile_);
  }

 private:
  void take(const JfrChunk& chunk) {
    ++chunks_;
    cut_ = chunk.is_cut();
    JfrTypes types;
    bool described = false;
    const size_t rest = chunk.bytes.size() < JfrChunk::header_size
                            ? chunk.bytes.size()
                            : chunk.each_event([&](int64_t type, const JfrBytes& event) {
                                if (type == JfrChunk::metadata) described = types.read(event);
                              });
    if (cut_) note_cut(chunk, described);
    if (!described) {
      if (!cut_) issues_.add("a chunk without a description of its types", 0, "");
      return;
    }
    if (rest != 0 && !cut_) issues_.add("an event that is damaged", 0, std::to_string(rest));
    if (began_ns_ == 0) began_ns_ = chunk.began_ns;
    duration_ns_ += static_cast<double>(std::max(chunk.duration_ns, int64_t{0}));
    JfrPools pools(types);
    chunk.each_event([&](int64_t type, const JfrBytes& event) {
      if (type == JfrChunk::checkpoint && !pools.add(event))
        issues_.add("a pool of values that is damaged", 0, "");
    });
    JfrNames names(profile_, issues_, options_, types, pools);
    chunk.each_event([&](int64_t type, const JfrBytes& event) {
      if (const JfrType* known = types.find(type)) take_event(*known, event, types, names);
    });
  }

  void note_cut(const JfrChunk& chunk, bool described) {
    if (options_.refuse_truncated) source_.fail("it ends in the middle of a chunk");
    std::string text = "the recording ends in the middle of a chunk, of which " +
                       with_commas(static_cast<int64_t>(chunk.bytes.size()));
    text += chunk.stated == 0 ? " bytes"
                              : " of " + with_commas(static_cast<int64_t>(chunk.stated)) + " bytes";
    text += " are there";
    if (!described) text += "; what describes its events is missing, so none of them is read";
    profile_.meta.notes.push_back(std::move(text));
  }

  void take_event(const JfrType& type, JfrBytes event, const JfrTypes& types, JfrNames& names) {
    const auto* figure =
        std::find_if(jfr_figures.begin(), jfr_figures.end(),
                     [&](const JfrFigure& each) { return each.event == type.name; });
    if (figure == jfr_figures.end()) return;
    types.read_row(type, event, row_);
    if (!event.good()) return issues_.add("an event that is damaged", 0, type.name);
    int64_t of_class = row_.number("objectClass");
    if (row_.find("objectClass") == nullptr) of_class = names.class_of_old(row_.number("object"));
    const StackId stack =
        names.stack(row_.number("eventThread"), row_.number("stackTrace"), of_class);
    if (stack.index >= sums_.size()) sums_.resize(size_t{2} * stack.index + 1);
    uint32_t& place = sums_[stack.index];
    if (place == 0) {
      order_.push_back(stack);
      rows_.emplace_back();
      place = static_cast<uint32_t>(rows_.size());
    }
    for (; figure != jfr_figures.end() && figure->event == type.name; ++figure) {
      const JfrRow::Cell* cell = row_.find(figure->field);
      if (cell == nullptr && !figure->field.empty()) continue;
      used_.at(figure->column) = true;
      int64_t& sum = rows_[place - 1].at(figure->column);
      if (__builtin_add_overflow(sum, cell == nullptr ? 1 : cell->number, &sum))
        source_.fail("a sum does not fit in 64 bits");
    }
  }

  [[noreturn]] void fail_empty() const {
    std::string why =
        "no allocation is in it; record with -XX:StartFlightRecording:settings=profile, "
        "or with jdk.ObjectAllocationSample#enabled=true";
    for (const std::string& note : profile_.meta.notes) why += "; " + note;
    if (issues_.any()) why += "; " + issues_.texts().front();
    source_.fail(why);
  }

  void add_all() {
    const std::array<ValueType, jfr_columns> types{{{"allocated", Unit::bytes},
                                                    {"samples", Unit::count},
                                                    {"tlabs", Unit::bytes},
                                                    {"tlab_objects", Unit::bytes},
                                                    {"tlab_events", Unit::count},
                                                    {"kept", Unit::bytes},
                                                    {"kept_objects", Unit::count}}};
    for (size_t column = 0; column < jfr_columns; ++column)
      if (used_.at(column)) profile_.types.push_back(types.at(column));
    std::vector<int64_t> values;
    for (size_t i = 0; i < rows_.size(); ++i) {
      values.clear();
      for (size_t column = 0; column < jfr_columns; ++column)
        if (used_.at(column)) values.push_back(rows_[i].at(column));
      profile_.add(order_[i], values);
    }
  }

  void describe() {
    profile_.meta.title = "Java Flight Recorder";
    if (used_[jfr_allocated] || used_[jfr_tlabs])
      profile_.meta.sampling = "sampled by Java, bytes are estimates";
    profile_.meta.began_ns = began_ns_;
    constexpr double second = 1e9;
    profile_.meta.seconds = duration_ns_ / second;
  }

  Source& source_;
  const ReadOptions& options_;
  Profile profile_;
  Issues issues_;
  JfrRow row_;
  std::vector<uint32_t> sums_;  // StackId::index -> row + 1
  std::vector<JfrSums> rows_;
  std::vector<StackId> order_;
  std::array<bool, jfr_columns> used_{};
  size_t chunks_ = 0;
  int64_t began_ns_ = 0;
  double duration_ns_ = 0;
  bool cut_ = false;
};

}  // namespace

bool is_jfr(std::string_view head) { return head.starts_with(JfrChunk::magic); }

Profile read_jfr(Source& source, const ReadOptions& options) {
  return JfrReader(source, options).run();
}

}  // namespace memflame
