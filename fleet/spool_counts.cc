// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/spool_counts.h"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>

namespace memflame {
namespace {

constexpr std::string_view counts_magic = "memflame-spool-1";
constexpr size_t copy_bytes = 32768;  // room for most_outputs
constexpr size_t copies = 2;

struct Copy {
  uint64_t number = 0;
  SpoolCounts counts;
};

template <class Counts, class Visit>
void each_of_output(Counts& counts, const Visit& visit) {
  for (auto* const field : {&counts.taken, &counts.sent, &counts.sent_bytes, &counts.refused,
                            &counts.dropped, &counts.damaged, &counts.vanished, &counts.waiting})
    visit(*field);
}

template <class Counts, class Visit>
void each_of_spool(Counts& counts, const Visit& visit) {
  for (auto* const field : {&counts.taken, &counts.dropped_full, &counts.dropped_disk,
                            &counts.waiting, &counts.waiting_bytes})
    visit(*field);
}

uint64_t checksum(std::string_view text) {
  return ::crc32_z(0, reinterpret_cast<const unsigned char*>(text.data()), text.size());
}

std::string text_of(const SpoolCounts& counts) {
  std::ostringstream text;
  each_of_spool(counts, [&](uint64_t value) { text << value << ' '; });
  text << counts.outputs.size() << '\n';
  for (const auto& [name, output] : counts.outputs) {
    text << name;
    each_of_output(output, [&](uint64_t value) { text << ' ' << value; });
    text << '\n';
  }
  return text.str();
}

std::optional<SpoolCounts> counts_from(const std::string& text) {
  std::istringstream in(text);
  SpoolCounts counts;
  each_of_spool(counts, [&](uint64_t& value) { in >> value; });
  size_t outputs = 0;
  in >> outputs;
  for (size_t i = 0; in && i < std::min(outputs, most_outputs); ++i) {
    std::string name;
    in >> name;
    OutputCounts output;
    each_of_output(output, [&](uint64_t& value) { in >> value; });
    if (is_output_name(name)) counts.outputs.emplace(name, output);
  }
  if (!in) return std::nullopt;
  return counts;
}

std::optional<Copy> read_copy(int file, size_t place) {
  std::string bytes(copy_bytes, '\0');
  const ssize_t got =
      ::pread(file, bytes.data(), bytes.size(), static_cast<off_t>(place * copy_bytes));
  if (got <= 0) return std::nullopt;
  bytes.resize(static_cast<size_t>(got));
  std::istringstream in(bytes);
  std::string magic;
  Copy copy;
  uint64_t sum = 0;
  size_t size = 0;
  in >> magic >> copy.number >> sum >> size;
  if (!in || magic != counts_magic || size > copy_bytes || in.get() != '\n') return std::nullopt;
  std::string text(size, '\0');
  if (!in.read(text.data(), static_cast<std::streamsize>(size)) || checksum(text) != sum)
    return std::nullopt;
  std::optional<SpoolCounts> counts = counts_from(text);
  if (!counts) return std::nullopt;
  copy.counts = std::move(*counts);
  return copy;
}

// The newest whole copy; the number 0 if there is none.
Copy newest_copy(int file) {
  Copy newest;
  for (size_t place = 0; place < copies; ++place)
    if (std::optional<Copy> copy = read_copy(file, place); copy && copy->number > newest.number)
      newest = std::move(*copy);
  return newest;
}

}  // namespace

bool is_output_name(std::string_view name) {
  constexpr std::string_view letters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  return !name.empty() && name.size() <= 64 && name[0] != '.' &&
         name.find_first_not_of(letters) == std::string_view::npos;
}

SpoolCounts read_counts(int file) { return newest_copy(file).counts; }

bool write_counts(int file, const SpoolCounts& counts) {
  const uint64_t number = newest_copy(file).number + 1;
  const std::string text = text_of(counts);
  std::ostringstream copy;
  copy << counts_magic << ' ' << number << ' ' << checksum(text) << ' ' << text.size() << '\n'
       << text;
  std::string bytes = copy.str();
  if (bytes.size() > copy_bytes) return false;
  bytes.resize(copy_bytes, '\n');
  // The first time both, so that the disk has room for both from now on.
  for (size_t place = 0; place < copies; ++place) {
    if (number != 1 && place != number % copies) continue;
    if (::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(place * copy_bytes)) !=
        static_cast<ssize_t>(bytes.size()))
      return false;
  }
  return true;
}

}  // namespace memflame
