// SPDX-License-Identifier: BSD-2-Clause
// A History made by hand: a leak, a cache that fills up, a buffer that comes and goes, and small
// change.
#pragma once

#include "core/history.h"

namespace memflame {

// Makes histories with names but without files.
struct HistoryMaker {
  HistoryMaker();

  // A stack below main, from the caller to the innermost function; names with a '/' before are
  // "module/function", and others belong to the program.
  TrackId track(const std::vector<std::string>& functions);
  // Adds a look. Figures of a row: live, live-count, total, total-count.
  Look& look(double seconds, LookRows rows = {});

  History history;
};

// `looks` looks in two minutes.
History made_history(int looks = 120);

}  // namespace memflame
