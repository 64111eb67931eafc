// SPDX-License-Identifier: BSD-2-Clause
#include "probes/heaps/go/go_live_run.h"

#include <utility>

#include "core/error.h"
#include "probes/stacks/rows.h"

namespace memflame {

GoLiveRun::GoLiveRun(const Probe& probe, const ProbeOptions& options, bool exact_counters)
    : probe_(probe),
      options_(options),
      processes_(options.target, exact_counters, Processes::Log::none) {}

Snapshot GoLiveRun::snapshot(const SnapshotOptions& options) {
  if (options.older_ns != 0 || options.blocks)
    throw Error("internal: Go's heap profile does not know the ages of blocks");
  refresh();
  return take_snapshot(*this, options);
}

Recording GoLiveRun::recording_of(std::span<const LiveStack* const> stacks, bool by_count) {
  Recording recording;
  show_live(recording, stacks, by_count, is_sampled());
  recording.meta.sampling = sampling_in_words();
  processes_.spaces().copy_to(recording);
  return recording;
}

Look GoLiveRun::look(History& history, bool) {
  refresh();
  if (!looks_) {
    std::vector<ProbeTypes> types{{probe_.name, true, this->types()}};
    history.recording.types = types[0].types;
    history.recording.shown = value_named(probe_, options_.value).column;
    history.gauges = os_gauges();
    looks_.emplace(std::move(types), armed_ns_);
  }
  Look look = looks_->take(*this, history, false);
  processes_.spaces().copy_to(history.recording, false);
  return look;
}

TrackId GoLiveRun::track_of(uint64_t key) const {
  return looks_ ? looks_->track_of(log_, key) : TrackId{};
}

Recording GoLiveRun::sums() {
  Recording recording;
  recording.types = types();
  recording.shown = value_named(probe_, options_.value).column;
  RecordingRows rows(recording, log_);
  add_figures(0, recording.types, rows);
  recording.meta.sampling = sampling_in_words();
  recording.losses = losses();
  return recording;
}

Recording GoLiveRun::so_far() {
  refresh();
  Recording recording = sums();
  processes_.spaces().copy_to(recording);
  return recording;
}

void GoLiveRun::take_end(SpaceId space, pid_t pid, uint64_t now_ns) {
  bpf::space_record record{};
  record.type = bpf::record_space;
  record.space = space.index;
  record.time = now_ns;
  record.tgid = static_cast<uint32_t>(pid);
  record.reason = bpf::space_end;
  processes_.take(record);
}

}  // namespace memflame
