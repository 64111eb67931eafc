// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/witness.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <iterator>

#include "probes/inside/exchange/protocol.h"

namespace memflame::inside {
namespace {

constexpr size_t ring_bytes = 8 * page;  // some hundred programs until memflame reads
constexpr size_t most_events = 1024;

UniqueFd open_event(pid_t pid, int cpu) {
  perf_event_attr attr{};
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  attr.sample_id_all = 1;
  attr.inherit = 1;
  attr.comm = 1;
  attr.comm_exec = 1;
  attr.task = 1;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  return UniqueFd(
      static_cast<int>(::syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
}

template <class T>
T read_at(std::span<const std::byte> record, size_t offset) {
  T value{};
  if (offset + sizeof(T) <= record.size()) std::memcpy(&value, record.data() + offset, sizeof(T));
  return value;
}

}  // namespace

// Belongs to an event on memflame itself that tells nothing; those on others write into it.
struct Witness::Ring {
  UniqueFd event;
  int cpu = 0;
  void* memory = MAP_FAILED;

  Ring(UniqueFd own, int of) : event(std::move(own)), cpu(of) {
    memory = ::mmap(nullptr, page + ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, event.get(), 0);
  }
  ~Ring() {
    if (memory != MAP_FAILED) ::munmap(memory, page + ring_bytes);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
};

struct Witness::Told {
  enum class Kind : uint8_t { fork, exec, exit } kind = Kind::fork;
  pid_t pid = 0, parent = 0;
  uint64_t time_ns = 0;
  std::string name;
};

Witness::Witness() {
  const long cpus = ::sysconf(_SC_NPROCESSORS_CONF);
  for (int cpu = 0; cpu < cpus; ++cpu) {
    UniqueFd event = open_event(::getpid(), cpu);
    if (!event && errno == ENODEV) continue;  // an offline processor
    if (event) {
      ::ioctl(event.get(), PERF_EVENT_IOC_DISABLE, 0);
      rings_.push_back(std::make_unique<Ring>(std::move(event), cpu));
      if (rings_.back()->memory != MAP_FAILED) continue;
    }
    rings_.clear();
    return;
  }
}

Witness::~Witness() = default;

void Witness::watch(pid_t pid, bool is_about_to) {
  if (!works() || watched_.contains(pid)) return;
  if (events_.size() + rings_.size() > most_events) {
    ++lost_;
    return;
  }
  std::vector<UniqueFd> events;
  for (const auto& ring : rings_) {
    events.push_back(open_event(pid, ring->cpu));
    if (!events.back() ||
        ::ioctl(events.back().get(), PERF_EVENT_IOC_SET_OUTPUT, ring->event.get()) != 0) {
      ++lost_;
      return;
    }
  }
  std::ranges::move(events, std::back_inserter(events_));
  watched_.insert(pid);
  if (is_about_to) about_to_.insert(pid);
}

// perf_event.h documents the layouts. Each record ends with pid, tid and time.
void Witness::read(std::span<const std::byte> record, std::vector<Told>& told) {
  constexpr size_t tail = 16, name_at = 16;
  const auto header = read_at<perf_event_header>(record, 0);
  Told each{.pid = read_at<pid_t>(record, 8),
            .parent = read_at<pid_t>(record, 12),
            .time_ns = read_at<uint64_t>(record, record.size() - sizeof(uint64_t)),
            .name = ""};
  if (header.type == PERF_RECORD_LOST) lost_ += read_at<uint64_t>(record, 16);
  if (header.type == PERF_RECORD_COMM && (header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0 &&
      record.size() > name_at + tail) {
    each.kind = Told::Kind::exec;
    const auto* name = reinterpret_cast<const char*>(record.data() + name_at);
    each.name.assign(name, ::strnlen(name, record.size() - name_at - tail));
  } else if (header.type == PERF_RECORD_EXIT && each.pid == read_at<pid_t>(record, 16)) {
    each.kind = Told::Kind::exit;  // of its first thread
  } else if (header.type != PERF_RECORD_FORK || each.pid == each.parent) {
    return;
  }
  told.push_back(std::move(each));
}

std::vector<Takeover::Left> Witness::take() {
  std::vector<Told> told;
  std::array<std::byte, 512> record{};  // larger than any of these
  for (const auto& ring : rings_) {
    auto* control = static_cast<perf_event_mmap_page*>(ring->memory);
    const auto* data = static_cast<const std::byte*>(ring->memory) + page;
    const uint64_t head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
    uint64_t at = control->data_tail;
    const auto copy = [&](size_t bytes) {
      for (size_t i = 0; i < bytes; ++i) record.at(i) = data[(at + i) % ring_bytes];
      return std::span<const std::byte>(record).first(bytes);
    };
    while (head - at >= sizeof(perf_event_header)) {
      const size_t size = read_at<perf_event_header>(copy(sizeof(perf_event_header)), 0).size;
      if (size < sizeof(perf_event_header) || size > head - at) break;
      if (size >= 32 && size <= record.size()) read(copy(size), told);
      at += size;
    }
    __atomic_store_n(&control->data_tail, head, __ATOMIC_RELEASE);
  }
  // A process may have been on several processors.
  std::ranges::stable_sort(told, {}, &Told::time_ns);
  std::vector<Takeover::Left> left;
  for (Told& each : told) {
    if (each.kind == Told::Kind::fork && watched_.contains(each.parent)) watched_.insert(each.pid);
    if (each.kind == Told::Kind::exit) watched_.erase(each.pid);
    if (each.kind == Told::Kind::exec && watched_.contains(each.pid) &&
        about_to_.erase(each.pid) == 0)
      left.push_back({each.pid, std::move(each.name), each.time_ns});
  }
  return left;
}

}  // namespace memflame::inside
