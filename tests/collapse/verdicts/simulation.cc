// SPDX-License-Identifier: BSD-2-Clause
#include "tests/collapse/verdicts/simulation.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace memflame {

std::vector<ValueType> block_types() {
  return {{"live", Unit::bytes}, {"live-count"}, {"total", Unit::bytes}, {"total-count"}};
}

Simulation::Simulation(uint64_t seed, double sample_bytes)
    : random_(seed), sample_bytes_(sample_bytes) {}

TrackId Simulation::add_track(SpaceId space) {
  const TrackId id{static_cast<uint32_t>(tracks_.size())};
  tracks_.push_back({RawStackId{id.index}, space, ""});
  values_.push_back({0, 0, 0, 0});
  is_changed_.push_back(false);
  return id;
}

// The standard's distributions differ from library to library; these do not.
double Simulation::uniform() { return static_cast<double>(random_() >> 11U) * 0x1p-53; }
double Simulation::exponential(double mean) { return -mean * std::log(1 - uniform()); }

void Simulation::allocate(double at_s, TrackId track, int64_t size, double life_s) {
  const size_t block = allocate(at_s, track, size);
  if (!blocks_[block].is_seen)
    unused_.push_back(block);
  else if (life_s < forever)
    deaths_.push({at_s + life_s, block});
}

size_t Simulation::allocate(double at_s, TrackId track, int64_t size) {
  kill_until(at_s);
  size_t place = blocks_.size();
  if (unused_.empty()) {
    blocks_.emplace_back();
  } else {
    place = unused_.back();
    unused_.pop_back();
  }
  Block& block = blocks_[place];
  block = {at_s, track, size, 1};
  block.is_seen = true;
  if (sample_bytes_ > 0) {
    const double chance = -std::expm1(-static_cast<double>(size) / sample_bytes_);
    block.is_seen = uniform() < chance;
    block.blocks = std::llround(1 / chance);
    block.bytes = block.blocks * size;
  }
  if (!block.is_seen) return place;
  std::vector<int64_t>& values = values_[track.index];
  values[0] += block.bytes;
  values[1] += block.blocks;
  values[2] += block.bytes;
  values[3] += block.blocks;
  is_changed_[track.index] = true;
  return place;
}

void Simulation::free(double at_s, size_t block) {
  kill_until(at_s);
  kill(block);
}

void Simulation::kill(size_t place) {
  Block& block = blocks_[place];
  block.lives = false;
  unused_.push_back(place);
  if (!block.is_seen) return;
  values_[block.track.index][0] -= block.bytes;
  values_[block.track.index][1] -= block.blocks;
  is_changed_[block.track.index] = true;
}

void Simulation::kill_until(double at_s) {
  while (!deaths_.empty() && deaths_.top().at_s <= at_s) {
    kill(deaths_.top().block);
    deaths_.pop();
  }
}

// At most 6 stretches of one length: of more, the two oldest become one of twice the length.
void Simulation::add_stretch(double at_s) {
  begins_.push_back(surveyed_ns_);
  surveyed_ns_ = static_cast<uint64_t>(std::llround(at_s * 1e9));
  const auto width = [&](size_t i) {
    return (i + 1 < begins_.size() ? begins_[i + 1] : surveyed_ns_) - begins_[i];
  };
  for (size_t end = begins_.size(); end > 0;) {
    size_t begin = end - 1;
    while (begin > 0 && width(begin - 1) <= width(end - 1) * 3 / 2) --begin;
    if (end - begin <= 6) {
      end = begin;
      continue;
    }
    begins_.erase(begins_.begin() + static_cast<std::ptrdiff_t>(begin + 1));
    end = begin + 1;
  }
}

Look Simulation::look(double at_s, std::vector<SpaceId> ended, bool is_survey) {
  kill_until(at_s);
  Look look;
  look.time_ns = static_cast<uint64_t>(std::llround(at_s * 1e9));
  look.ended = std::move(ended);
  for (uint32_t i = 1; i < tracks_.size(); ++i) {
    if (is_changed_[i]) look.rows.add(TrackId{i}, values_[i]);
    is_changed_[i] = false;
  }
  if (!is_survey) return look;
  add_stretch(at_s);
  look.stretches = begins_;
  add_cells(look);
  return look;
}

void Simulation::add_cells(Look& look) const {
  std::vector<Look::Cell> cells(tracks_.size() * begins_.size());
  for (const Block& block : blocks_) {
    if (!block.is_seen || !block.lives) continue;
    const auto born = static_cast<uint64_t>(block.born_s * 1e9);
    const auto after = std::upper_bound(begins_.begin(), begins_.end(), born);
    const auto stretch = static_cast<size_t>(after - begins_.begin() - 1);
    Look::Cell& cell = cells[block.track.index * begins_.size() + stretch];
    cell.track = block.track;
    cell.stretch = static_cast<uint32_t>(stretch);
    cell.bytes += block.bytes;
    cell.blocks += block.blocks;
    ++cell.samples;
  }
  for (const Look::Cell& cell : cells)
    if (cell.samples > 0) look.cells.push_back(cell);
}

}  // namespace memflame
