// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/history/look_codec.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace memflame {
namespace {

uint64_t memory_of_row(size_t columns) { return sizeof(TrackId) + columns * sizeof(int64_t); }

std::tuple<TrackId, uint32_t> place_of(const Look::Cell& cell) {
  return {cell.track, cell.stretch};
}

int64_t sum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

// What a cell has become: the difference of its figures.
struct CellChange {
  TrackId track;
  uint32_t stretch = 0;
  int64_t bytes = 0, blocks = 0, samples = 0;
};

CellChange change(const Look::Cell& from, const Look::Cell& to) {
  return {.track = to.track,
          .stretch = to.stretch,
          .bytes = sum(to.bytes, static_cast<int64_t>(0 - static_cast<uint64_t>(from.bytes))),
          .blocks = sum(to.blocks, static_cast<int64_t>(0 - static_cast<uint64_t>(from.blocks))),
          .samples = int64_t{to.samples} - int64_t{from.samples}};
}

bool is_empty(const Look::Cell& cell) {
  return cell.bytes == 0 && cell.blocks == 0 && cell.samples == 0;
}

// Both by place.
std::vector<CellChange> changes(std::span<const Look::Cell> from, std::span<const Look::Cell> to) {
  std::vector<CellChange> all;
  size_t i = 0;
  for (const Look::Cell& cell : to) {
    for (; i < from.size() && place_of(from[i]) < place_of(cell); ++i)
      all.push_back(change(from[i], {.track = from[i].track, .stretch = from[i].stretch}));
    Look::Cell before{.track = cell.track, .stretch = cell.stretch};
    if (i < from.size() && place_of(from[i]) == place_of(cell)) before = from[i++];
    if (before != cell) all.push_back(change(before, cell));
  }
  for (; i < from.size(); ++i)
    all.push_back(change(from[i], {.track = from[i].track, .stretch = from[i].stretch}));
  return all;
}

std::vector<Look::Cell> changed(std::span<const Look::Cell> from,
                                std::span<const CellChange> changes) {
  std::vector<Look::Cell> all;
  all.reserve(from.size() + changes.size());
  size_t i = 0;
  for (const CellChange& change : changes) {
    Look::Cell cell{.track = change.track, .stretch = change.stretch};
    for (; i < from.size() && place_of(from[i]) < place_of(cell); ++i) all.push_back(from[i]);
    if (i < from.size() && place_of(from[i]) == place_of(cell)) cell = from[i++];
    cell.bytes = sum(cell.bytes, change.bytes);
    cell.blocks = sum(cell.blocks, change.blocks);
    const int64_t samples = sum(cell.samples, change.samples);
    if (samples < 0 || samples > UINT32_MAX) throw DamagedChunk("it has samples that cannot be");
    cell.samples = static_cast<uint32_t>(samples);
    if (!is_empty(cell)) all.push_back(cell);
  }
  all.insert(all.end(), from.begin() + static_cast<ptrdiff_t>(i), from.end());
  return all;
}

}  // namespace

uint64_t memory_of(const Look& look) {
  return sizeof(Look) + look.cells.size() * sizeof(Look::Cell) +
         look.stretches.size() * sizeof(uint64_t) + look.ended.size() * sizeof(SpaceId) +
         look.gauges.size() * sizeof(int64_t) +
         look.rows.size() * memory_of_row(look.rows.columns());
}

std::vector<Look::Cell> LookState::expected(std::span<const uint64_t> stretches) const {
  std::vector<Look::Cell> all;
  all.reserve(cells_.size());
  for (const Look::Cell& cell : cells_) {
    const auto next =
        std::upper_bound(stretches.begin(), stretches.end(), stretches_[cell.stretch]);
    if (next == stretches.begin()) continue;
    Look::Cell moved = cell;
    moved.stretch = static_cast<uint32_t>(next - stretches.begin() - 1);
    if (!all.empty() && place_of(all.back()) == place_of(moved)) {
      all.back().bytes = sum(all.back().bytes, moved.bytes);
      all.back().blocks = sum(all.back().blocks, moved.blocks);
      all.back().samples += moved.samples;
    } else {
      all.push_back(moved);
    }
  }
  return all;
}

std::string LookEncoder::encode(std::span<const Look> looks) {
  ByteWriter out;
  out.number(looks.size());
  for (const Look& look : looks) {
    if (look.time_ns < time_ns_) throw Error("internal: looks are not in the order of time");
    out.number(look.time_ns - time_ns_);
    time_ns_ = look.time_ns;
  }
  for (size_t i = 0; i < gauges_.size(); ++i) {
    const auto reading = [&](const Look& look) {
      return i < look.gauges.size() ? look.gauges[i] : no_reading;
    };
    for (const Look& look : looks) out.number(reading(look) == no_reading ? 0 : 1);
    for (const Look& look : looks) {
      if (reading(look) == no_reading) continue;
      out.step(gauges_[i], reading(look));
      gauges_[i] = reading(look);
    }
  }
  for (const Look& look : looks) out.number(look.ended.size());
  for (const Look& look : looks)
    for (const SpaceId space : look.ended) out.number(space.index);
  encode_rows(looks, out);
  encode_surveys(looks, out);
  return out.take();
}

void LookEncoder::encode_rows(std::span<const Look> looks, ByteWriter& out) {
  for (const Look& look : looks) out.number(look.rows.size());
  for (const Look& look : looks) {
    uint32_t before = 0;
    for (const Look::Row& row : look.rows) {
      if (row.track.index <= before || row.values.size() != columns_)
        throw Error("internal: the rows of a look are not in the order of their tracks");
      out.number(row.track.index - before);
      before = row.track.index;
    }
  }
  for (size_t column = 0; column < columns_; ++column)
    for (const Look& look : looks)
      for (const Look::Row& row : look.rows) {
        int64_t& figure = figures_.of(row.track)[column];
        out.step(figure, row.values[column]);
        figure = row.values[column];
      }
}

void LookEncoder::encode_surveys(std::span<const Look> looks, ByteWriter& out) {
  for (const Look& look : looks) {
    out.number(look.stretches.size());
    uint64_t before = 0;
    for (const uint64_t begin : look.stretches) {
      if (begin < before) throw Error("internal: the stretches of a survey are not in order");
      out.number(begin - before);
      before = begin;
    }
  }
  for (const Look& look : looks) {
    if (!look.is_survey()) continue;
    std::vector<Look::Cell> cells;
    cells.reserve(look.cells.size());
    for (const Look::Cell& cell : look.cells) {
      if (cell.stretch >= look.stretches.size() ||
          (!cells.empty() && place_of(cell) <= place_of(cells.back())))
        throw Error("internal: the cells of a survey are not in order");
      if (!is_empty(cell)) cells.push_back(cell);
    }
    const std::vector<CellChange> all = changes(expected(look.stretches), cells);
    out.number(all.size());
    uint32_t before = 0;
    for (const CellChange& cell : all) {
      out.number(cell.track.index - before);
      before = cell.track.index;
    }
    for (const CellChange& cell : all) out.number(cell.stretch);
    for (const CellChange& cell : all) out.signed_number(cell.bytes);
    for (const CellChange& cell : all) out.signed_number(cell.blocks);
    for (const CellChange& cell : all) out.signed_number(cell.samples);
    stretches_ = look.stretches;
    cells_ = std::move(cells);
  }
}

void LookDecoder::decode(ByteReader& in, const LookLimits& limits, MemoryBudget& budget,
                         std::vector<Look>& into) {
  while (!in.at_end()) {
    const size_t count = in.count();
    budget.take(count * (sizeof(Look) + gauges_.size() * sizeof(int64_t)));
    std::vector<Look> looks(count);
    decode_group(in, limits, budget, looks);
    std::move(looks.begin(), looks.end(), std::back_inserter(into));
  }
}

void LookDecoder::decode_group(ByteReader& in, const LookLimits& limits, MemoryBudget& budget,
                               std::span<Look> looks) {
  for (Look& look : looks) {
    look.time_ns = in.number_below(UINT64_MAX - time_ns_, "a time") + time_ns_;
    look.gauges.assign(gauges_.size(), no_reading);
    time_ns_ = look.time_ns;
  }
  for (size_t i = 0; i < gauges_.size(); ++i) {
    for (Look& look : looks) look.gauges[i] = in.flag() ? 0 : no_reading;
    for (Look& look : looks)
      if (look.gauges[i] != no_reading) look.gauges[i] = gauges_[i] = in.step(gauges_[i]);
  }
  for (Look& look : looks) {
    const size_t ended = in.count();
    budget.take(ended * sizeof(SpaceId));
    look.ended.resize(ended);
  }
  for (Look& look : looks)
    for (SpaceId& space : look.ended)
      space = SpaceId{static_cast<uint32_t>(in.number_below(limits.spaces, "a process"))};
  decode_rows(in, limits, budget, looks);
  decode_surveys(in, limits, budget, looks);
}

void LookDecoder::decode_rows(ByteReader& in, const LookLimits& limits, MemoryBudget& budget,
                              std::span<Look> looks) {
  for (Look& look : looks) {
    const size_t count = in.count();
    budget.take(count * memory_of_row(columns_));
    look.rows.resize(count, columns_);
  }
  uint64_t last = 0;
  for (Look& look : looks) {
    uint64_t track = 0;
    for (TrackId& row_track : look.rows.tracks()) {
      const uint64_t step = in.number_below(limits.tracks, "a track");
      track += step;
      if (step == 0 || track >= limits.tracks) throw DamagedChunk("it has a track that cannot be");
      row_track = TrackId{static_cast<uint32_t>(track)};
    }
    last = std::max(last, track);
  }
  budget.take(figures_.bytes_for(TrackId{static_cast<uint32_t>(last)}));
  // The columns hold differences, which become figures row by row.
  for (size_t column = 0; column < columns_; ++column)
    for (Look& look : looks) {
      const std::span<int64_t> values = look.rows.values();
      for (size_t at = column; at < values.size(); at += columns_) values[at] = in.signed_number();
    }
  for (Look& look : looks)
    for (size_t i = 0; i < look.rows.size(); ++i) {
      const std::span<int64_t> known = figures_.of(look.rows.tracks()[i]),
                               values = look.rows.values_of(i);
      for (size_t column = 0; column < columns_; ++column)
        values[column] = known[column] = sum(known[column], values[column]);
    }
}

void LookDecoder::decode_surveys(ByteReader& in, const LookLimits& limits, MemoryBudget& budget,
                                 std::span<Look> looks) {
  for (Look& look : looks) {
    const size_t count = in.count();
    budget.take(count * sizeof(uint64_t));
    look.stretches.resize(count);
    uint64_t begin = 0;
    for (uint64_t& stretch : look.stretches) {
      begin += in.number_below(look.time_ns - begin + 1, "a stretch of time");
      stretch = begin;
    }
  }
  size_t cells = 0;
  for (Look& look : looks) {
    if (!look.is_survey()) continue;
    budget.work(cells_.size());
    const std::vector<Look::Cell> before = expected(look.stretches);
    const size_t count = in.count();
    cells += before.size() + count;
    if (cells > most_cells) throw DamagedChunk("it has too many cells");
    std::vector<CellChange> all(count);
    uint64_t track = 0;
    for (CellChange& cell : all) {
      track += in.number_below(limits.tracks, "a track");
      if (track == 0 || track >= limits.tracks) throw DamagedChunk("it has a track that cannot be");
      cell.track = TrackId{static_cast<uint32_t>(track)};
    }
    for (CellChange& cell : all)
      cell.stretch =
          static_cast<uint32_t>(in.number_below(look.stretches.size(), "a stretch of time"));
    for (size_t i = 1; i < all.size(); ++i)
      if (all[i].track == all[i - 1].track && all[i].stretch <= all[i - 1].stretch)
        throw DamagedChunk("it has cells that are not in order");
    for (CellChange& cell : all) cell.bytes = in.signed_number();
    for (CellChange& cell : all) cell.blocks = in.signed_number();
    for (CellChange& cell : all) cell.samples = in.signed_number();
    look.cells = changed(before, all);
    stretches_ = look.stretches;
    cells_ = look.cells;
  }
}

}  // namespace memflame
