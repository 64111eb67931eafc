// SPDX-License-Identifier: BSD-2-Clause
// From looks at a run to the figures of a window, in addresses.
//
// The thread that reads the kernel's records takes looks and makes drafts, which is quick; another
// one names a draft's stacks and makes windows of it (window_maker.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collapse/verdicts/ledger.h"
#include "collapse/verdicts/marks.h"
#include "core/history.h"
#include "core/recording.h"
#include "fleet/window.h"

namespace memflame {

using Labels = std::map<std::string, std::string>;
using LabelsOf = std::function<const Labels&(SpaceId)>;

// The stacks of one service: indices in the recording's sums.
struct DraftService {
  Labels labels;
  std::vector<size_t> sums;
  std::map<std::string, double> figures;  // of its processes
};

struct WindowDraft {
  int64_t began_ns = 0, ended_ns = 0;  // CLOCK_REALTIME
  // Its columns are those of window_types that the run has, and `growth`: of the bytes in use. Its
  // sums have no row of zeros.
  Recording recording;
  std::vector<DraftService> services;
  std::optional<JudgedRun> judged;        // if the run follows blocks
  std::map<std::string, double> figures;  // of the run, for each of its services
  std::string sampling;                   // in words; "" = all blocks
};

// The columns of a draft's recording, by window_types; `growth` comes last if there is inuse_space.
inline constexpr std::string_view growth_column = "growth";

class WindowDrafts {
 public:
  // `types`: the run's columns. `probe`: its only probe; "" if there are several, whose columns
  // then begin with their names. Throws Error if a window can have none of them.
  WindowDrafts(std::vector<ValueType> types, const std::string& probe);

  // In the order of time. `tables` are always those of the same run.
  void add(const Look& look, const History& tables);

  // What there is, and what came since the last take(). `code` is what the run knows of its
  // processes and files (LiveRun::recording_of()).
  WindowDraft take(const History& tables, Recording code, const LabelsOf& labels);
  // These tracks belong to other stacks from now on: LiveRun::forget().
  void forget(std::span<const TrackId> tracks);

 private:
  // How a column of a draft comes from columns of the run.
  struct Column {
    const WindowType* type = nullptr;
    size_t plus = no_column, minus = no_column;
    int64_t factor = 1;
  };
  void add_column(std::string_view type, std::string_view plus, std::string_view minus = {},
                  int64_t factor = 1);
  size_t column_named(std::string_view name) const;
  int64_t figure(const Column& column, const std::vector<int64_t>& values, size_t track) const;
  std::vector<int64_t> figures_of(size_t track) const;
  bool has_ended(const Track& track) const;
  void forget_ended(const History& tables);

  std::vector<ValueType> types_;
  std::vector<Column> columns_;
  std::optional<Ledger> ledger_;
  // The run's figures of each track, by TrackId::index: now, and when the window began.
  std::vector<int64_t> now_, before_;
  std::vector<bool> ended_;  // by SpaceId::index
};

}  // namespace memflame
