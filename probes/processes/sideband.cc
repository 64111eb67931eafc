// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/sideband.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "core/error.h"

namespace memflame {
namespace {

constexpr size_t page = 4096;
// While memflame loads its programs, or waits for a processor, thousands of other processes may
// begin, and each maps a dozen files. A power of two of pages; the least is within the kernel's
// default limit.
constexpr size_t most_ring_bytes = 512 * page, least_ring_bytes = 64 * page;
constexpr size_t all_rings_bytes = 16UL << 20;

// With sample_id_all, a record ends with the fields of sample_type: here pid, tid and time.
struct Tail {
  uint32_t pid, tid;
  uint64_t time;
};

template <class T>
T read_at(const std::byte* record, size_t offset) {
  T value;
  std::memcpy(&value, record + offset, sizeof(T));
  return value;
}

// perf_event.h documents the layout: header, pid, tid, addr, len, pgoff, maj, min, ino,
// ino_generation, prot, flags, filename.
SidebandRecord mapping_record(const std::byte* record, size_t size, uint64_t time) {
  constexpr size_t name_at = 72;
  SidebandRecord result;
  result.pid = read_at<pid_t>(record, 8);
  result.time_ns = time;
  result.start = read_at<uint64_t>(record, 16);
  result.end = result.start + read_at<uint64_t>(record, 24);
  result.offset = read_at<uint64_t>(record, 32);
  result.device = makedev(read_at<uint32_t>(record, 40), read_at<uint32_t>(record, 44));
  result.inode = read_at<uint64_t>(record, 48);
  result.generation = read_at<uint64_t>(record, 56);
  if (size > name_at + sizeof(Tail)) {
    const auto* name = reinterpret_cast<const char*>(record + name_at);
    result.path.assign(name, ::strnlen(name, size - name_at - sizeof(Tail)));
  }
  if (result.path == "//anon") result.path.clear();
  return result;
}

size_t ring_bytes_for(long cpus) {
  size_t bytes = most_ring_bytes;
  while (bytes > least_ring_bytes && bytes * static_cast<size_t>(cpus) > all_rings_bytes)
    bytes /= 2;
  return bytes;
}

// The kernel refuses more than an unprivileged user may lock: then half of it, and so on.
void* map_ring(int event, size_t& bytes) {
  for (;; bytes /= 2) {
    void* memory = ::mmap(nullptr, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
    if (memory != MAP_FAILED || bytes <= least_ring_bytes || (errno != EPERM && errno != ENOMEM))
      return memory;
  }
}

}  // namespace

Sideband::Sideband() : record_(65536) {
  perf_event_attr attr{};
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  attr.sample_id_all = 1;
  attr.mmap = 1;
  attr.mmap2 = 1;
  attr.comm = 1;
  attr.comm_exec = 1;
  attr.task = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  const long cpus = ::sysconf(_SC_NPROCESSORS_CONF);
  for (int cpu = 0; cpu < cpus; ++cpu) {
    Ring ring;
    ring.bytes = ring_bytes_for(cpus);
    ring.event.reset(
        static_cast<int>(::syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
    if (!ring.event && errno == ENODEV) continue;  // an offline CPU
    if (ring.event) ring.memory = map_ring(ring.event.get(), ring.bytes);
    if (!ring.event || ring.memory == MAP_FAILED)
      throw Error(std::string("the kernel's log of mappings cannot be opened (") +
                      std::strerror(errno) + "): run as root, or with CAP_PERFMON",
                  ExitCode::requirement);
    rings_.push_back(std::move(ring));
  }
}

Sideband::~Sideband() {
  for (const Ring& ring : rings_) ::munmap(ring.memory, page + ring.bytes);
}

void Sideband::drain(const std::function<void(const SidebandRecord&)>& take) {
  // The kernel gives pids of the PID namespace that has opened the log, and 0 or -1 for processes
  // that cannot be seen from there.
  const auto take_visible = [&](const SidebandRecord& record) {
    if (record.pid > 0) take(record);
  };
  for (Ring& ring : rings_) drain(ring, take_visible);
}

void Sideband::drain(Ring& ring, const std::function<void(const SidebandRecord&)>& take) {
  auto* control = static_cast<perf_event_mmap_page*>(ring.memory);
  const auto* data = static_cast<const std::byte*>(ring.memory) + page;
  const uint64_t head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
  uint64_t tail = control->data_tail;
  while (tail < head) {
    // A record may wrap around the end of the ring: copy it in two pieces.
    const auto copy = [&](uint64_t from, size_t size, std::byte* to) {
      const size_t at = from % ring.bytes;
      const size_t first = std::min(size, ring.bytes - at);
      std::memcpy(to, data + at, first);
      std::memcpy(to + first, data, size - first);
    };
    perf_event_header header{};
    copy(tail, sizeof(header), reinterpret_cast<std::byte*>(&header));
    if (header.size < sizeof(header)) break;
    copy(tail, header.size, record_.data());
    tail += header.size;
    const size_t tail_at = header.size - sizeof(Tail);
    const uint64_t time =
        header.size > sizeof(Tail) ? read_at<Tail>(record_.data(), tail_at).time : 0;
    if (header.type == PERF_RECORD_MMAP2 && header.size > 72) {
      take(mapping_record(record_.data(), header.size, time));
    } else if (header.type == PERF_RECORD_COMM && (header.misc & PERF_RECORD_MISC_COMM_EXEC)) {
      SidebandRecord record;
      record.kind = SidebandRecord::Kind::exec;
      record.pid = read_at<pid_t>(record_.data(), 8);
      record.time_ns = time;
      take(record);
    } else if (header.type == PERF_RECORD_EXIT) {
      SidebandRecord record;  // pid, ppid, tid, ptid, time: the leader's exit has pid == tid
      record.kind = SidebandRecord::Kind::exit;
      record.pid = read_at<pid_t>(record_.data(), 8);
      record.time_ns = time;
      if (record.pid == read_at<pid_t>(record_.data(), 16)) take(record);
    } else if (header.type == PERF_RECORD_LOST) {
      lost_ += read_at<uint64_t>(record_.data(), 16);
    }
  }
  __atomic_store_n(&control->data_tail, tail, __ATOMIC_RELEASE);
}

}  // namespace memflame
