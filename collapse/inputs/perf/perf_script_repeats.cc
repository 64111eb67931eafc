// SPDX-License-Identifier: BSD-2-Clause
// Samples that are put off until the memory that tells whether they came before is there.
#include <utility>

#include "collapse/inputs/perf/perf_script_worker.h"
#include "collapse/text/line_ends.h"
#include "core/scan.h"

namespace memflame {

// Puts off the rest of a sample whose header was just read: the text up to the empty line, of which
// the first line ends at `first_end`. Returns its size with the empty line, or 0 if the sample has
// to be read now.
size_t PerfWorker::put_off(std::string_view text, const char* first_end) {
  if (!even_ || !wanted_ || first_end == text.data() || first_end == text.data() + text.size())
    return 0;
  const auto first_size = static_cast<size_t>(first_end - text.data());
  const Hash128 first = hash_bytes_128(text.substr(0, first_size));
  tables_.lines().prefetch(first);
  const Paragraph rest = first_paragraph(text.substr(first_size + 1));
  if (!rest.ended) {
    even_ = false;
    return 0;
  }
  PutOff& sample = put_off_[put_off_count_++];
  sample.text = text.substr(0, first_size + 1 + rest.size);
  sample.first = first;
  sample.rest = rest.hash;
  sample.event = key_[0];
  sample.root = key_[1];
  sample.weight = weight_;
  sample.line = at_.second;
  sample.lines = rest.lines + 1;
  sample.leaf = tables_.lines().find(first);
  if (sample.leaf != 0) {
    sample.sample = sample_hash(sample, sample.leaf);
    tables_.samples().prefetch(sample.sample);
  }
  at_.second += sample.lines + 1;
  inside_ = false;
  // add_sample() needs block_, which belongs to the last header.
  if (put_off_count_ == put_off_.size() || options_.net) take_put_off();
  return sample.text.size() + 1;
}

// The parts that decide the row of a sample.
Hash128 PerfWorker::sample_hash(const PutOff& sample, uint32_t leaf) {
  const std::array<uint64_t, 4> parts{uint64_t{sample.event} << 32U | sample.root, leaf,
                                      sample.rest.low, sample.rest.high};
  return hash_bytes_128({reinterpret_cast<const char*>(parts.data()), sizeof parts});
}

// Takes all samples that were put off, in their order. What is known of the sample that is being
// read stays as it is.
void PerfWorker::take_put_off() {
  if (put_off_count_ == 0) return;
  const size_t number = at_.second;
  const int64_t weight = weight_;
  for (PutOff& sample : std::span(put_off_).first(std::exchange(put_off_count_, 0))) {
    if (sample.leaf == 0) {  // one of those before may have had this line
      sample.leaf = tables_.lines().find(sample.first);
      if (sample.leaf != 0) sample.sample = sample_hash(sample, sample.leaf);
    }
    const uint32_t row = sample.leaf != 0 ? tables_.samples().find(sample.sample) : 0;
    weight_ = sample.weight;
    at_.second = sample.line + sample.lines + 1;
    if (row != 0)
      add_sample(row);
    else
      take_lines(sample);
  }
  at_.second = number;
  weight_ = weight;
}

// Reads a sample line by line, and remembers its row.
void PerfWorker::take_lines(const PutOff& sample) {
  const bool inside = std::exchange(inside_, true), wanted = std::exchange(wanted_, true);
  std::vector<uint32_t> key = std::exchange(key_, {sample.event, sample.root});
  const std::optional<PerfBlockEvent> block = block_;
  repeatable_ = &sample;
  at_.second = sample.line;
  const char* at = sample.text.data();
  const char* const end_of_text = at + sample.text.size();
  LineEnds ends(sample.text);
  while (at != end_of_text) {
    const char* const feed = ends.next(at);
    auto size = static_cast<size_t>(feed - at);
    if (size != 0 && at[size - 1] == '\r') --size;
    ++at_.second;
    take_line({at, size});
    at = feed + 1;
  }
  ++at_.second;
  take_line({});
  repeatable_ = nullptr;
  block_ = block;
  key_ = std::move(key);
  wanted_ = wanted;
  inside_ = inside;
}

// What the sample that has just ended is to be known by; nothing if it is known, or not all of its
// lines are frames of it.
std::optional<Hash128> PerfWorker::repeated_sample() const {
  if (repeatable_ == nullptr || at_.second != repeatable_->line + repeatable_->lines + 1) return {};
  const uint32_t leaf = tables_.lines().find(repeatable_->first);
  if (leaf == 0) return {};
  const Hash128 hash = sample_hash(*repeatable_, leaf);
  if (tables_.samples().find(hash) != 0) return {};
  return hash;
}

}  // namespace memflame
