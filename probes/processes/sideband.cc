// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/sideband.h"

#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

#include "core/error.h"
#include "core/sandbox.h"
#include "probes/options/advice.h"

namespace memflame {
namespace {

constexpr size_t page = 4096;
// A power of two of pages; the least is within the kernel's default limit.
constexpr size_t most_ring_bytes = 512 * page, least_ring_bytes = 64 * page;
constexpr size_t all_rings_bytes = 16UL << 20;
constexpr size_t most_kept_bytes = 64UL << 20;  // what lies there until the main thread comes

// With sample_id_all, a record ends with the fields of sample_type: here pid, tid and time.
struct Tail {
  uint32_t pid, tid;
  uint64_t time;
};

template <class T>
T read_at(std::span<const std::byte> record, size_t offset) {
  T value{};
  if (offset + sizeof(T) <= record.size()) std::memcpy(&value, record.data() + offset, sizeof(T));
  return value;
}

// perf_event.h documents the layout: header, pid, tid, addr, len, pgoff, maj, min, ino,
// ino_generation, prot, flags, filename.
constexpr size_t name_at = 72;
SidebandRecord mapping_record(std::span<const std::byte> record, uint64_t time) {
  SidebandRecord result;
  result.pid = read_at<pid_t>(record, 8);
  result.time_ns = time;
  result.start = read_at<uint64_t>(record, 16);
  result.end = result.start + read_at<uint64_t>(record, 24);
  result.offset = read_at<uint64_t>(record, 32);
  result.device = makedev(read_at<uint32_t>(record, 40), read_at<uint32_t>(record, 44));
  result.inode = read_at<uint64_t>(record, 48);
  result.generation = read_at<uint64_t>(record, 56);
  if (record.size() > name_at + sizeof(Tail)) {
    const auto* name = reinterpret_cast<const char*>(record.data() + name_at);
    result.path.assign(name, ::strnlen(name, record.size() - name_at - sizeof(Tail)));
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

Sideband::Sideband() {
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
                      std::strerror(errno) + "): " + run_as_root_or_with("CAP_PERFMON"),
                  ExitCode::requirement);
    rings_.push_back(std::move(ring));
  }
  ending_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!ending_)
    throw Error(std::string("no descriptor is left for the log of mappings (") +
                std::strerror(errno) + "): raise ulimit -n");
  thread_ = std::jthread([this](const std::stop_token& stop) { empty_when_filling(stop); });
}

Sideband::~Sideband() {
  thread_.request_stop();
  ::eventfd_write(ending_.get(), 1);
  thread_.join();
  for (const Ring& ring : rings_) ::munmap(ring.memory, page + ring.bytes);
}

void Sideband::empty_when_filling(const std::stop_token& stop) {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);  // signals are for the main thread
  drop_capabilities();
  std::vector<pollfd> waited{{.fd = ending_.get(), .events = POLLIN, .revents = 0}};
  for (const Ring& ring : rings_)
    waited.push_back({.fd = ring.event.get(), .events = POLLIN, .revents = 0});
  while (!stop.stop_requested()) {
    if (::poll(waited.data(), waited.size(), -1) < 0) continue;
    // A processor that was taken away stays ready for ever.
    for (pollfd& each : waited)
      if ((each.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) each.fd = -1;
    const std::lock_guard lock(mutex_);
    empty_rings();
  }
}

void Sideband::empty_rings() {
  for (Ring& ring : rings_)
    if (records_.size() < most_kept_bytes) empty(ring);
}

void Sideband::empty(Ring& ring) {
  auto* control = static_cast<perf_event_mmap_page*>(ring.memory);
  const auto* data = static_cast<const std::byte*>(ring.memory) + page;
  const uint64_t head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
  const uint64_t tail = control->data_tail;
  // What lies there may wrap around the end of the ring.
  const size_t bytes = head - tail, at = tail % ring.bytes;
  const size_t first = std::min(bytes, ring.bytes - at);
  records_.insert(records_.end(), data + at, data + at + first);
  records_.insert(records_.end(), data, data + (bytes - first));
  __atomic_store_n(&control->data_tail, head, __ATOMIC_RELEASE);
}

void Sideband::drain(const std::function<void(const SidebandRecord&)>& take) {
  std::vector<std::byte> taken;
  {
    const std::lock_guard lock(mutex_);
    empty_rings();
    taken.swap(records_);
  }
  // The kernel gives pids of the PID namespace that has opened the log, and 0 or -1 for processes
  // that cannot be seen from there.
  const auto take_visible = [&](const SidebandRecord& record) {
    if (record.pid > 0) take(record);
  };
  for (std::span<const std::byte> left = taken; left.size() >= sizeof(perf_event_header);) {
    const size_t size = read_at<perf_event_header>(left, 0).size;
    if (size < sizeof(perf_event_header) || size > left.size()) break;
    read(left.first(size), take_visible);
    left = left.subspan(size);
  }
}

void Sideband::read(std::span<const std::byte> record,
                    const std::function<void(const SidebandRecord&)>& take) {
  if (record.size() <= sizeof(perf_event_header) + sizeof(Tail)) return;
  const auto header = read_at<perf_event_header>(record, 0);
  const uint64_t time = read_at<Tail>(record, record.size() - sizeof(Tail)).time;
  SidebandRecord result;
  result.pid = read_at<pid_t>(record, 8);
  result.time_ns = time;
  if (header.type == PERF_RECORD_MMAP2 && record.size() > name_at) {
    take(mapping_record(record, time));
  } else if (header.type == PERF_RECORD_COMM && (header.misc & PERF_RECORD_MISC_COMM_EXEC)) {
    result.kind = SidebandRecord::Kind::exec;
    take(result);
  } else if (header.type == PERF_RECORD_EXIT) {
    // pid, ppid, tid, ptid, time: the leader's exit has pid == tid
    result.kind = SidebandRecord::Kind::exit;
    if (result.pid == read_at<pid_t>(record, 16)) take(result);
  } else if (header.type == PERF_RECORD_LOST) {
    lost_ += read_at<uint64_t>(record, 16);  // behind an id
  }
}

}  // namespace memflame
