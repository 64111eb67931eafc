// SPDX-License-Identifier: BSD-2-Clause
#include "probes/heaps/go/go_session.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/units.h"
#include "probes/run/run_notes.h"
#include "probes/stacks/rows.h"

namespace memflame {
namespace {

constexpr SpaceId go_space{1};
constexpr uint64_t fresh_ns = 50'000'000;  // a reading is used again for so long
constexpr std::chrono::milliseconds go_poll{10};

}  // namespace

GoHeapSession::GoHeapSession(const Probe& probe, const ProbeOptions& options)
    : GoLiveRun(probe, options, false), process_(options.target.pids.at(0)) {
  processes_.adopt(go_space, process_.pid());
  take(process_.heap());
  if (heap_.rate == 0)
    throw Error(process_.name() +
                " keeps no heap profile: its runtime.MemProfileRate is 0. 'memflame heap -p " +
                std::to_string(process_.pid()) +
                " -d 60 --start-go-profile' switches it on for a while");
  try {
    kill_.emplace(process_);
  } catch (const Error&) {
    kill_.reset();  // without rights, the figures of a killed process are those of the last reading
  }
}

uint64_t GoHeapSession::arm() {
  processes_.os().read_starts([](uint32_t, const OsMemory&) {});
  armed_ns_ = monotonic_ns();
  return armed_ns_;
}

void GoHeapSession::poll() {
  std::this_thread::sleep_for(go_poll);
  if (kill_) kill_->poll(0);
  see_end();
  if (ended_ns_ == 0) processes_.poll_os();
}

void GoHeapSession::disarm() {
  refresh();
  processes_.os().read_ends();
}

void GoHeapSession::see_end() {
  if (ended_ns_ != 0 || !process_.has_ended()) return;
  ended_ns_ = monotonic_ns();
  take_end(go_space, process_.pid(), ended_ns_);
  if (kill_) killed_ = kill_->result();
  if (killed_) take(std::move(killed_->heap));
}

// The last reading stays if the process has ended, or if the profile changes all the time.
void GoHeapSession::refresh() {
  see_end();
  if (ended_ns_ != 0 || monotonic_ns() - read_ns_ < fresh_ns) return;
  try {
    take(process_.heap());
  } catch (const Error&) {
    see_end();
    if (ended_ns_ == 0) ++unread_;
    read_ns_ = monotonic_ns();
  }
}

uint64_t GoHeapSession::key_of(const GoBucket& bucket) {
  const auto [found, is_new] = keys_.try_emplace(bucket.pcs, 0);
  if (is_new) {
    found->second = uint64_t{1} << 63 | keys_.size();
    log_.keep(found->second, process_.stack_of(bucket, go_space, monotonic_ns()));
  }
  return found->second;
}

void GoHeapSession::take(GoHeap heap) {
  heap_ = std::move(heap);
  read_ns_ = monotonic_ns();
  sums_ = go_sums(heap_, [this](const GoBucket& bucket) { return key_of(bucket); });
}

std::vector<ValueType> GoHeapSession::types() const {
  return go_types(probe_, options_, is_sampled());
}

void GoHeapSession::add_figures(size_t, std::span<const ValueType> types, Rows& rows) {
  for (const auto& [key, sum] : sums_) rows.add(key, "", go_row(sum, types.size()), sum.samples);
}

void GoHeapSession::for_each_sum(const VisitSum& visit) {
  for (const auto& [key, sum] : sums_) visit(key, sum.values.data());
}

void GoHeapSession::add_notes(Recording& recording) const {
  std::vector<std::string>& notes = recording.meta.notes;
  notes.emplace_back(
      "live is all that is in use on Go's heap, total all that was allocated since the program "
      "began, as of the latest garbage collection");
  if (heap_.is_early) notes.emplace_back(go_is_early_note);
  if (unread_ != 0)
    notes.push_back("left out: " + with_commas(static_cast<int64_t>(unread_)) +
                    (unread_ == 1 ? " reading" : " readings") +
                    " of Go's heap profile, because it changed all the time");
  if (killed_) {
    notes.push_back(killed_->in_words(process_.name()));
  } else if (ended_ns_ != 0) {
    std::array<char, 32> seconds{};
    std::snprintf(seconds.data(), seconds.size(), "%.1f s",
                  static_cast<double>(ended_ns_ - std::min(read_ns_, ended_ns_)) / 1e9);
    notes.push_back(process_.name() + " ended: its figures are from " + seconds.data() +
                    " before its end");
  }
  if (std::string note = processes_.pss_note(); !note.empty()) notes.push_back(std::move(note));
}

Recording GoHeapSession::finish() {
  refresh();
  Recording recording = sums();
  add_notes(recording);
  processes_.spaces().finish(recording);
  return recording;
}

uint64_t GoHeapSession::sampled_blocks() const {
  uint64_t blocks = 0;
  for (const GoBucket& bucket : heap_.buckets) blocks += bucket.allocated;
  return blocks;
}

uint64_t GoHeapSession::live_bytes() const {
  uint64_t bytes = 0;
  for (const auto& [key, sum] : sums_) bytes += static_cast<uint64_t>(sum.values[0]);
  return bytes;
}

void GoHeapSession::describe(RunInfo& info) const {
  info.counters.events = sampled_blocks();
  for (const GoBucket& bucket : heap_.buckets) {
    info.counters.amount += bucket.allocated_bytes;
    info.counters.freed += bucket.freed;
    info.counters.freed_bytes += bucket.freed_bytes;
  }
  info.pids = processes_.os().pids();
  info.os_growth = processes_.os().growth();
  info.without_end = processes_.os().without_figures();
}

}  // namespace memflame
