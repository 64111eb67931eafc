// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/perf/perf_script_worker.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <utility>

#include "collapse/text/line_ends.h"
#include "core/error.h"
#include "core/units.h"

namespace memflame {
namespace {

// "[libc.so.6]", or with its address "[libc.so.6 0x7f12]"
std::string unknown_name(const PerfFrame& frame, bool addresses) {
  std::string name = "[" + std::string(perf_module_name(frame.module));
  if (frame.module.empty()) name += "unknown";
  if (addresses) name += " 0x" + std::string(frame.address);
  return name + "]";
}

// Where frames begin in key_: after the event and the root.
constexpr size_t first_frame = 2;

}  // namespace

bool PerfWorker::take(const InputBlock& block, bool open) {
  at_ = {block.index, 0};
  even_ = true;
  const char* at = block.text.data();
  const char* const end_of_text = at + block.text.size();
  try {
    LineEnds ends(block.text);
    while (at != end_of_text) {
      const char* const feed = ends.next(at);
      auto size = static_cast<size_t>(feed - at);
      if (size != 0 && at[size - 1] == '\r') --size;
      ++at_.second;
      const bool was_inside = inside_;
      take_line({at, size});
      at = feed + (feed != end_of_text ? 1 : 0);
      if (!was_inside && inside_ && at != end_of_text) {
        const size_t known = put_off({at, static_cast<size_t>(end_of_text - at)}, ends.next(at));
        at += known;
        ends.skip_to(at);
        if (known != 0) continue;
      }
      if (inside_) take_put_off();
    }
    take_put_off();
    take_pending();
    // A truncated first line was already reported as not understood.
    const bool cut = open && !block.text.ends_with('\n');
    if (inside_ ? cut || (open && key_.size() > first_frame) : cut && options_.refuse_truncated)
      truncated = at_;
    end();
  } catch (const Error& error) {
    failure = {at_, error.what()};
    try {  // what comes earlier may fail, too
      take_put_off();
    } catch (const Error& earlier) {
      failure = {at_, earlier.what()};
    }
    return false;
  }
  lines.emplace_back(block.index, at_.second);
  if (issues_.any()) issues.emplace_back(block.index, std::exchange(issues_, {}));
  return true;
}

void PerfWorker::take_line(std::string_view line) {
  if (inside_ && wanted_ && !line.empty()) {
    const Hash128 hash = hash_bytes_128(line);
    tables_.lines().prefetch(hash);
    pending_[pending_count_++] = {line, hash, at_.second};
    if (pending_count_ == pending_.size()) take_pending();
    return;
  }
  take_pending();
  if (line.empty()) return end();
  if (!inside_) return begin(line);
  // Samples without stacks follow each other without an empty line.
  if (const auto header = parse_perf_header(line); header && header->placed) begin(*header);
}

void PerfWorker::take_pending() {
  const size_t number = at_.second;
  for (const Pending& pending : std::span(pending_).first(std::exchange(pending_count_, 0))) {
    at_.second = pending.number;
    if (inside_ && wanted_)
      take_frame(pending.line, pending.hash);
    else if (!inside_)
      begin(pending.line);
    else if (const auto header = parse_perf_header(pending.line); header && header->placed)
      begin(*header);
  }
  at_.second = number;
}

void PerfWorker::take_frame(std::string_view line, const Hash128& hash) {
  uint32_t frame = tables_.lines().find(hash);
  if (frame == 0) {
    frame = learn(line, hash);
    if (frame == 0) return;
  }
  key_.push_back(frame);
}

// Takes a line that is not known. Returns its frame; 0 if the line is something else or several
// frames, which are not remembered.
uint32_t PerfWorker::learn(std::string_view line, const Hash128& hash) {
  if (const std::optional<PerfSource> source = parse_perf_source(line)) {
    if (options_.lines && !source->file.empty() && key_.size() > first_frame)
      key_.back() = tables_.at(FrameId{key_.back()}, source->file, source->line).index;
    return 0;
  }
  const std::optional<PerfFrame> frame = parse_perf_frame(line);
  // Only a frame has a TAB and ends with a file in brackets; no header does.
  if (frame && line.front() == '\t' && !frame->module.empty()) return learn_frame(*frame, &hash);
  if (const auto header = parse_perf_header(line); header && (header->placed || !frame)) {
    end();
    begin(*header);
    return 0;
  }
  if (frame) return learn_frame(*frame, &hash);
  repeatable_ = nullptr;
  if (!skip_record(line))
    issues_.add("neither a frame nor the first line of a sample", at_.second, line);
  return 0;
}

uint32_t PerfWorker::learn_frame(const PerfFrame& frame, const Hash128* line) {
  if (frame.kind == FrameKind::jit && frame.symbol.find("->") != std::string_view::npos)
    return push_inlined(frame);
  std::string name(frame.symbol);
  if (name.empty()) name = unknown_name(frame, options_.addresses);
  if (options_.offsets) name += frame.offset;
  // Code made at run time is in a file of its process. With that module, no two processes would
  // share a function.
  const std::string_view module = frame.kind == FrameKind::jit ? "" : frame.module;
  return tables_.frame(frame.kind, name, module, line).index;
}

// "caller->inlined->leaf", as perf maps of Java name code.
uint32_t PerfWorker::push_inlined(const PerfFrame& frame) {
  std::string_view symbol = frame.symbol;
  while (true) {
    const size_t arrow = symbol.rfind("->");
    const bool is_caller = arrow == std::string_view::npos;
    const std::string_view name = is_caller ? symbol : symbol.substr(arrow + 2);
    const FrameKind kind = is_caller ? FrameKind::jit : FrameKind::inlined;
    if (!name.empty()) key_.push_back(tables_.frame(kind, name).index);
    if (is_caller) return 0;
    symbol = symbol.substr(0, arrow);
  }
}

// Skips the lines that options such as `--show-lost-events` put between the samples.
bool PerfWorker::skip_record(std::string_view line) {
  const size_t record = line.find(" PERF_RECORD_");
  if (record == std::string_view::npos) return false;
  constexpr std::string_view lost_record = " PERF_RECORD_LOST";
  const std::string_view text = line.substr(record);
  const size_t number = text.rfind(' ') + 1;
  uint64_t count = 0;
  if (text.starts_with(lost_record)) {
    std::from_chars(text.data() + number, text.data() + text.size(), count);
    if (__builtin_add_overflow(lost, count, &lost)) lost = UINT64_MAX;
  }
  return true;
}

void PerfWorker::take_comment(std::string_view line) {
  constexpr std::string_view command_key = "# cmdline : ", host_key = "# hostname : ";
  if (line.starts_with(command_key)) command = line.substr(command_key.size());
  if (line.starts_with(host_key)) host = line.substr(host_key.size());
}

void PerfWorker::begin(std::string_view line) {
  if (const auto header = parse_perf_header(line)) return begin(*header);
  if (line.front() == '#') return take_comment(line);
  if (skip_record(line)) return;
  take_put_off();  // issues stay in order
  issues_.add("not the first line of a sample", at_.second, line);
}

void PerfWorker::begin(const PerfHeader& header) {
  ++samples;
  inside_ = true;
  repeatable_ = nullptr;
  Event& event = event_of(header.event);
  event.first = std::min(event.first, at_);  // a sample that was put off is read later
  wanted_ = event.wanted;
  key_.clear();
  block_.reset();
  if (!wanted_) return;
  ++event.samples;
  const std::optional<int64_t> weight = weigh(event.weight, header);
  event.without_period += header.period.empty() ? 1U : 0U;
  event.scaled |= event.weight.from != PerfWeight::From::period && !header.period.empty() &&
                  header.period != "1";
  weight_ = weight.value_or(0);
  if (options_.net) block_ = perf_block_event(header);
  const bool is_free = block_ && block_->is_free;
  if (is_free) free_block(*block_, event, weight);
  // The size of a freed block is known from its allocation.
  event.without_field += weight || is_free ? 0U : 1U;
  // The stack of a free is not needed, and a failed allocation has no memory.
  if (!weight || is_free || (block_ && block_->address == 0)) {
    wanted_ = false;
    return;
  }
  key_ = {event.number, root_of(header)};
  if (const auto frame = parse_perf_single_frame(header.rest)) {
    take_put_off();
    if (const uint32_t id = learn_frame(*frame); id != 0) key_.push_back(id);
    end();
  }
}

void PerfWorker::free_block(const PerfBlockEvent& block, const Event& event,
                            std::optional<int64_t> weight) {
  if (block.address == 0) return;
  const bool weighed = event.weight.from != PerfWeight::From::period || block.is_pages;
  const auto give = [&](uint32_t row, int64_t worth) { subtract(row, worth); };
  if (net.free(block, weighed ? weight.value_or(0) : 0, give)) return;
  ++free_misses;
  const int64_t unit = event.weight.unit == Unit::pages   ? page_bytes
                       : event.weight.unit == Unit::bytes ? 1
                                                          : 0;
  int64_t bytes = 0;
  if (!__builtin_mul_overflow(weight.value_or(0), unit, &bytes) &&
      !__builtin_add_overflow(bytes, free_miss_bytes, &bytes))
    free_miss_bytes = bytes;
}

void PerfWorker::end() {
  if (!inside_) return;
  inside_ = false;
  if (!wanted_) return;
  if (key_.size() == first_frame && key_[1] == 0)
    key_.push_back(tables_.frame(FrameKind::note, "[no stack]").index);
  const Hash128 hash =
      hash_bytes_128({reinterpret_cast<const char*>(key_.data()), key_.size() * sizeof key_[0]});
  const std::optional<Hash128> sample = repeated_sample();
  add_sample(tables_.row(hash, key_, sample ? &*sample : nullptr));
}

void PerfWorker::add_sample(uint32_t row) {
  add(row, weight_);
  if (block_)
    net.allocate(*block_, row, weight_, [&](uint32_t old, int64_t worth) { subtract(old, worth); });
}

void PerfWorker::add(uint32_t row, int64_t value) {
  if (sums.size() <= row) sums.resize(row + 1, 0);
  if (__builtin_add_overflow(sums[row], value, &sums[row])) fail_sum();
  if (options_.in_order) sequence.push_back({row, value});
}

// Subtracts what was added before.
void PerfWorker::subtract(uint32_t row, int64_t value) {
  if (__builtin_sub_overflow(sums[row], value, &sums[row])) fail_sum();
  if (!options_.in_order) return;
  int64_t less = 0;
  if (__builtin_sub_overflow(0, value, &less)) fail_sum();
  sequence.push_back({row, less});
}

void PerfWorker::fail_sum() {
  throw Error("a sum of values leaves the range of 64 bits; the input cannot be right");
}

PerfWorker::Event& PerfWorker::event_of(std::string_view name) {
  if (last_event_ < events.size() && events[last_event_].name == name) return events[last_event_];
  const auto known = event_numbers_.find(name);
  if (known != event_numbers_.end()) {
    last_event_ = known->second;
  } else {
    last_event_ = events.size();
    event_numbers_.emplace(name, last_event_);
    events.push_back({.name = std::string(name),
                      .number = tables_.event(name),
                      .wanted = is_wanted(name, options_.events),
                      .weight = perf_weight(name, options_.weight),
                      .first = at_});
  }
  return events[last_event_];
}

// "comm", "comm-12", "comm-12/34"; 0 if not wanted.
uint32_t PerfWorker::root_of(const PerfHeader& header) {
  std::string root(options_.comm ? header.comm : "");
  if (options_.pid || options_.tid) {
    if (!root.empty()) root += '-';
    root += header.pid.empty() ? "?" : header.pid;
    if (options_.tid) root.append("/").append(header.tid);
  }
  if (root.empty()) return 0;
  if (root != last_root_) {
    last_root_frame_ = tables_.frame(FrameKind::process, root).index;
    last_root_ = std::move(root);
  }
  return last_root_frame_;
}

}  // namespace memflame
