// SPDX-License-Identifier: BSD-2-Clause
#include "probes/unwind/tables.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "core/elf/vdso.h"

namespace memflame::unwind {
namespace {

// Runs `work` in at most `most` threads, until it has returned in each.
void run_in_parallel(const std::function<void()>& work, size_t most,
                     const std::function<void()>& meanwhile) {
  const size_t threads = std::min<size_t>(std::thread::hardware_concurrency(), most);
  std::mutex mutex;
  std::condition_variable all_done;
  size_t done = 0;
  const auto helper = [&] {
    work();
    const std::scoped_lock lock(mutex);
    ++done;
    all_done.notify_one();
  };
  std::vector<std::jthread> helpers;
  for (size_t i = meanwhile ? 0 : 1; i < std::max<size_t>(threads, 1); ++i)
    helpers.emplace_back(helper);
  if (!meanwhile) return work();
  std::unique_lock lock(mutex);
  while (!all_done.wait_for(lock, std::chrono::milliseconds(1),
                            [&] { return done == helpers.size(); })) {
    lock.unlock();
    meanwhile();
    lock.lock();
  }
}

}  // namespace

Tables::Tables() : cache_(TableCache::of_user()) {}

void Tables::make(const std::vector<std::pair<ModuleId, const Module*>>& modules,
                  const std::function<void()>& meanwhile) {
  const auto began = std::chrono::steady_clock::now();
  std::vector<std::pair<Entry*, const Module*>> wanted;
  for (const auto& [id, module] : modules)
    if (entries_.size() <= id.index) entries_.resize(id.index + 1);
  for (const auto& [id, module] : modules) {
    Entry& entry = entries_[id.index];
    if (entry.made) continue;
    entry.made = true;
    wanted.emplace_back(&entry, module);
  }
  if (wanted.empty()) return;
  std::atomic<size_t> next = 0;
  std::atomic<uint64_t> cached = 0;
  const auto work = [&] {
    for (size_t i = next++; i < wanted.size(); i = next++) {
      const auto [entry, module] = wanted[i];
      if (module->kind == ModuleKind::vdso) {
        entry->table = make_table(vdso_image());
        continue;
      }
      FileTable made = table_of_file(module->file.get(), &cache_);
      entry->table = std::move(made.table);
      cached += made.from_cache ? 1 : 0;
    }
  };
  run_in_parallel(work, wanted.size(), meanwhile);
  for (const auto& [entry, module] : wanted) {
    rows_made_ += entry->table.rows.size();
    statistics_.malformed += entry->table.malformed;
    if (!memory_.empty()) settle(*entry);
  }
  statistics_.from_cache += cached;
  statistics_.built += wanted.size() - cached;
  statistics_.seconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

void Tables::move_to(std::span<row> memory) {
  memory_ = memory;
  for (Entry& entry : entries_)
    if (entry.made) settle(entry);
}

void Tables::settle(Entry& entry) {
  std::vector<row>& rows = entry.table.rows;
  if (rows.empty()) return;
  if (rows.size() <= memory_.size() - used_) {
    std::copy(rows.begin(), rows.end(), memory_.begin() + static_cast<ptrdiff_t>(used_));
    entry.place = {static_cast<uint32_t>(used_), static_cast<uint32_t>(rows.size())};
    used_ += rows.size();
    statistics_.rows = used_;
    ++statistics_.tables;
  } else {
    ++statistics_.no_room;
  }
  std::vector<row>().swap(rows);
}

Tables::Place Tables::add(std::vector<row> rows) {
  Entry entry;
  entry.table.rows = std::move(rows);
  settle(entry);
  return entry.place;
}

row Tables::find(Place place, uint32_t offset) const {
  const std::span<const row> rows = memory_.subspan(place.first, place.count);
  const auto after = std::upper_bound(rows.begin(), rows.end(), offset,
                                      [](uint32_t pc, const row& r) { return pc < r.pc; });
  return after == rows.begin() ? row{} : *(after - 1);
}

uint64_t rows_expected(int fd) {
  // The size of .eh_frame is not in the program headers, but the size of its index is: eight bytes
  // per entry, and an entry makes about ten rows.
  Elf64_Ehdr header{};
  if (::pread(fd, &header, sizeof(header), 0) != sizeof(header)) return 0;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return 0;
  for (unsigned i = 0; i < header.e_phnum && i < 64; ++i) {
    Elf64_Phdr segment{};
    const auto at = static_cast<off_t>(header.e_phoff + i * sizeof(segment));
    if (::pread(fd, &segment, sizeof(segment), at) != sizeof(segment)) return 0;
    if (segment.p_type == PT_GNU_EH_FRAME)
      return std::min<uint64_t>(segment.p_filesz, 64U << 20) / 8 * 10;
  }
  return 0;
}

}  // namespace memflame::unwind
