// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/history/run_codec.h"

#include <algorithm>
#include <fstream>

namespace memflame {
namespace {

void write_meta(const Meta& meta, ByteWriter& out) {
  out.text(meta.title);
  out.text(meta.command);
  out.text(meta.host);
  out.real(meta.seconds);
  out.text(meta.sampling);
  const auto is_known = [](const Reconciliation& row) { return row.os.has_value(); };
  out.number(static_cast<size_t>(std::ranges::count_if(meta.reconciliation, is_known)));
  for (const Reconciliation& row : meta.reconciliation) {
    if (!is_known(row)) continue;
    out.text(row.name);
    out.signed_number(row.captured);
    out.signed_number(*row.os);
    out.text(row.captured_is);
  }
  out.number(meta.notes.size());
  for (const std::string& note : meta.notes) out.text(note);
}

Meta read_meta(ByteReader& in) {
  Meta meta;
  meta.title = in.text();
  meta.command = in.text();
  meta.host = in.text();
  meta.seconds = in.real();
  if (!(meta.seconds >= 0 && meta.seconds < 1e12))
    throw DamagedChunk("it has a time that cannot be");
  meta.sampling = in.text();
  for (size_t i = in.count(); i-- > 0;) {
    Reconciliation& row = meta.reconciliation.emplace_back();
    row.name = in.text();
    row.captured = in.signed_number();
    row.os = in.signed_number();
    row.captured_is = in.text();
  }
  for (size_t i = in.count(); i-- > 0;) meta.notes.emplace_back(in.text());
  return meta;
}

Unit unit(ByteReader& in) {
  const auto last = static_cast<uint64_t>(Unit::variance);
  return static_cast<Unit>(in.number_below(last + 1, "a unit"));
}

constexpr uint64_t most_decimals = 19;

// A column of variances and the column it belongs to refer to each other; both must exist.
void check(const std::vector<ValueType>& types, size_t shown) {
  if (shown >= types.size() || types[shown].unit == Unit::variance)
    throw DamagedChunk("it does not say what its figures are");
  for (const ValueType& type : types)
    if (type.variance != no_column &&
        (type.unit == Unit::variance || type.variance >= types.size() ||
         types[type.variance].unit != Unit::variance || !(type.variance_unit > 0)))
      throw DamagedChunk("its columns of errors cannot be");
}

// Text of the chunk is copied once; small parts in it take more than their bytes.
constexpr uint64_t memory_of_text = 128;

}  // namespace

std::string encode(const RunHead& head) {
  ByteWriter out;
  write_meta(head.meta, out);
  out.text(head.boot);
  out.number(head.types.size());
  for (const ValueType& type : head.types) {
    out.text(type.name);
    out.number(static_cast<uint64_t>(type.unit));
    out.number(type.variance == no_column ? 0 : type.variance + 1);
    out.real(type.variance_unit);
    out.number(type.decimals);
  }
  out.number(head.shown);
  out.number(head.gauges.size());
  for (const Gauge& gauge : head.gauges) {
    out.text(gauge.name);
    out.number(static_cast<uint64_t>(gauge.unit));
    out.number(gauge.decimals);
  }
  out.signed_number(head.meta.began_ns);
  return out.take();
}

RunHead decode_head(ByteReader& in, MemoryBudget& budget) {
  budget.take(in.left() * memory_of_text);
  RunHead head;
  head.meta = read_meta(in);
  head.boot = in.text();
  head.types.resize(in.number_below(max_columns + 1, "a number of columns"));
  for (ValueType& type : head.types) {
    type.name = in.text();
    type.unit = unit(in);
    const uint64_t variance = in.number_below(max_columns + 1, "a column");
    type.variance = variance == 0 ? no_column : variance - 1;
    type.variance_unit = in.real();
    type.decimals = static_cast<uint8_t>(in.number_below(most_decimals, "decimals"));
  }
  head.shown = in.number_below(max_columns, "a column");
  check(head.types, head.shown);
  head.gauges.resize(in.number_below(max_columns + 1, "a number of gauges"));
  for (Gauge& gauge : head.gauges) {
    gauge.name = in.text();
    gauge.unit = unit(in);
    gauge.decimals = static_cast<uint8_t>(in.number_below(most_decimals, "decimals"));
  }
  // Older files do not have it.
  if (!in.at_end()) head.meta.began_ns = in.signed_number();
  if (head.meta.began_ns < 0) throw DamagedChunk("it has a time that cannot be");
  return head;
}

std::string encode_end(const Recording& recording, const Meta& meta) {
  ByteWriter out;
  write_meta(meta, out);
  out.number(loss_info.size());
  for (size_t i = 0; i < loss_info.size(); ++i) {
    const LossCount& count = recording.losses[static_cast<Loss>(i)];
    out.text(loss_info[i].name);
    out.number(count.events);
    out.signed_number(count.bytes);
  }
  out.number(recording.shared_names.size());
  for (const std::string& name : recording.shared_names) out.text(name);
  out.number(recording.candidates.size());
  for (const Candidate& candidate : recording.candidates) {
    out.text(candidate.kind);
    out.text(candidate.detail);
    out.number(candidate.events);
    out.signed_number(candidate.bytes);
    out.number(candidate.freeing.index);
    out.number(candidate.allocating.index);
    out.number(candidate.first_freeing.index);
  }
  return out.take();
}

void decode_end(ByteReader& in, MemoryBudget& budget, Recording& into) {
  budget.take(in.left() * memory_of_text);
  Meta meta = read_meta(in);
  Losses losses;
  for (size_t i = in.count(); i-- > 0;) {
    const std::string_view name = in.text();
    const uint64_t events = in.number();
    const int64_t bytes = in.signed_number();
    const auto known = std::find_if(loss_info.begin(), loss_info.end(),
                                    [&](const LossInfo& info) { return info.name == name; });
    if (known != loss_info.end())
      losses.add(static_cast<Loss>(known - loss_info.begin()), events, bytes);
    else if (events != 0)
      meta.notes.push_back(std::to_string(events) + " events: " + std::string(name) +
                           " (a later memflame knows what that is)");
  }
  std::vector<std::string> shared(in.count());
  for (std::string& name : shared) name = in.text();
  std::vector<Candidate> candidates(in.count());
  for (Candidate& candidate : candidates) {
    candidate.kind = in.text();
    candidate.detail = in.text();
    candidate.events = in.number();
    candidate.bytes = in.signed_number();
    const auto stack = [&] {
      return RawStackId{static_cast<uint32_t>(in.number_below(into.stacks.size(), "a stack"))};
    };
    candidate.freeing = stack();
    candidate.allocating = stack();
    candidate.first_freeing = stack();
  }
  meta.began_ns = into.meta.began_ns;  // the first chunk has it
  into.meta = std::move(meta);
  into.losses = losses;
  into.shared_names = std::move(shared);
  into.candidates = std::move(candidates);
}

std::string encode(const Mark& mark) {
  ByteWriter out;
  out.number(mark.time_ns);
  out.text(mark.name);
  return out.take();
}

void decode_marks(ByteReader& in, MemoryBudget& budget, std::vector<Mark>& into) {
  while (!in.at_end()) {
    budget.take(memory_of_text);
    Mark& mark = into.emplace_back();
    mark.time_ns = in.number();
    mark.name = in.text();
  }
}

std::string this_boot() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

}  // namespace memflame
