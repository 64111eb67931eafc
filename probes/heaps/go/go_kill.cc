// SPDX-License-Identifier: BSD-2-Clause
#include "probes/heaps/go/go_kill.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <new>

#include "core/error.h"
#include "core/units.h"
#include "probes/heaps/go/go_kill_records.h"
#include "probes/system/packed_object.h"
#include "probes/system/pid_namespace.h"

extern "C" {
extern const std::byte memflame_go_kill_object[];
extern const std::byte memflame_go_kill_object_end[];
}

namespace memflame {
namespace {

// The profile may grow while memflame waits; what does not fit is counted.
constexpr uint64_t room_for_growth = 4, least_ring = 1 << 20, most_ring = 64 << 20;
constexpr size_t most_copied = 256 << 20;
constexpr uint64_t record_overhead = 16;  // a header, and up to 8 bytes of padding

uint32_t ring_bytes_for(const GoHeap& heap) {
  uint64_t bytes = 0;
  for (const GoBucket& bucket : heap.buckets)
    bytes += offsetof(bpf::go_bucket_record, rest) + bucket.pcs.size() * sizeof(uint64_t) +
             bpf::go_bucket_figures + record_overhead;
  return static_cast<uint32_t>(
      std::bit_ceil(std::clamp(bytes * room_for_growth, least_ring, most_ring)));
}

[[noreturn]] void refuse_to_load(int error) {
  throw Error(std::string("the BPF program that waits for the kill cannot be loaded (") +
                  std::strerror(error) + "): --at-kill needs root, or CAP_BPF and CAP_PERFMON",
              ExitCode::requirement);
}

// libbpf prints many lines about a failure; the error is one line.
struct QuietLibbpf {
  libbpf_print_fn_t before = libbpf_set_print(nullptr);
  QuietLibbpf() = default;
  QuietLibbpf(const QuietLibbpf&) = delete;
  QuietLibbpf& operator=(const QuietLibbpf&) = delete;
  ~QuietLibbpf() { libbpf_set_print(before); }
};

int map_of(const bpf_object* object, const char* name) {
  return bpf_map__fd(bpf_object__find_map_by_name(object, name));
}

}  // namespace

void GoKillWatch::Close::operator()(bpf_object* object) const { bpf_object__close(object); }
void GoKillWatch::Close::operator()(bpf_link* link) const { bpf_link__destroy(link); }
void GoKillWatch::Close::operator()(ring_buffer* ring) const { ring_buffer__free(ring); }

std::string GoKilled::in_words(const std::string& process) const {
  std::string text = process +
                     (out_of_memory ? " was killed by the kernel's out-of-memory killer"
                                    : " was killed (SIGKILL)") +
                     ": this is its heap profile at that moment, as of its last garbage collection";
  if (is_cut) text += "; the profile could not be followed to its end, so some of it is missing";
  if (is_mixed)
    text +=
        "; a garbage collection ended meanwhile, so some stacks have the figures from before it";
  return text;
}

Losses GoKilled::losses() const {
  Losses losses;
  losses.add(Loss::go_stacks_lost, lost + uint64_t{is_cut});
  return losses;
}

GoKillWatch::GoKillWatch(const GoProcess& process) : process_(process) {
  const GoHeap now = process.heap();
  rate_ = now.rate;
  if (rate_ == 0) throw Error(process.name() + " keeps no heap profile");
  if (now.head == 0)
    throw Error("the heap profile of " + process.name() +
                " is empty so far: try again in a moment");
  attach(now);
}

GoKillWatch::~GoKillWatch() = default;

void GoKillWatch::attach(const GoHeap& now) {
  PidNamespace pids;
  pids.look();
  const QuietLibbpf quiet;
  object_.reset(open_packed({memflame_go_kill_object, memflame_go_kill_object_end}));
  if (!object_) refuse_to_load(errno);
  bpf_map__set_max_entries(bpf_object__find_map_by_name(object_.get(), "ring"),
                           ring_bytes_for(now));
  if (bpf_object__load(object_.get()) != 0) refuse_to_load(errno);
  const uint32_t first = 0;
  const bpf::go_kill_settings settings{.tgid = static_cast<uint32_t>(pids.initial(process_.pid())),
                                       .pad = 0,
                                       .buckets = now.head,
                                       .cycle = process_.addresses().cycle.at(0)};
  if (bpf_map_update_elem(map_of(object_.get(), "settings"), &first, &settings, BPF_ANY) != 0)
    refuse_to_load(errno);
  ring_.reset(ring_buffer__new(map_of(object_.get(), "ring"), take, this, nullptr));
  if (!ring_) refuse_to_load(errno);
  link_.reset(bpf_program__attach_raw_tracepoint(
      bpf_object__find_program_by_name(object_.get(), "memflame_go_kill"), "signal_deliver"));
  if (!link_) refuse_to_load(errno);
}

// Called by libbpf, which is C: no exception may pass through it.
int GoKillWatch::take(void* self, void* data, size_t size) {
  auto& watch = *static_cast<GoKillWatch*>(self);
  try {
    if (watch.bytes_ > most_copied) {
      ++watch.refused_;
      return 0;
    }
    watch.bytes_ += size;
    const auto* bytes = static_cast<const std::byte*>(data);
    watch.buckets_.emplace_back(bytes, bytes + size);
    return 0;
  } catch (const std::bad_alloc&) {
    watch.no_memory_ = true;
    return -1;
  }
}

void GoKillWatch::poll(int milliseconds) {
  ring_buffer__poll(ring_.get(), milliseconds);
  ring_buffer__consume(ring_.get());
  if (no_memory_) throw Error("no memory for the heap profile of " + process_.name());
}

std::optional<GoKilled> GoKillWatch::result() {
  poll(0);
  const uint32_t first = 0;
  bpf::go_kill_walk walk{};
  if (bpf_map_lookup_elem(map_of(object_.get(), "walks"), &first, &walk) != 0)
    throw Error(std::string("what was copied of Go's heap profile cannot be read: ") +
                std::strerror(errno));
  if (walk.is_claimed == 0) return std::nullopt;
  GoKilled killed;
  killed.heap = go_heap_of_copy(buckets_, walk.cycle, process_.addresses(), killed.lost);
  killed.heap.rate = rate_;
  killed.out_of_memory = walk.out_of_memory != 0;
  killed.is_cut = walk.is_cut != 0 || walk.is_done == 0;
  killed.is_mixed = walk.cycle != walk.cycle_after;
  killed.lost += walk.dropped + walk.unread + refused_;
  if (killed.heap.buckets.empty())
    throw Error("the heap profile of " + process_.name() +
                " could not be copied when it was killed: its memory was gone already");
  return killed;
}

}  // namespace memflame
