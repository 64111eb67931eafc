// SPDX-License-Identifier: BSD-2-Clause
#include "probes/heaps/go/go_heap.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <optional>
#include <thread>
#include <unordered_map>

#include "core/error.h"

namespace memflame {
namespace {

constexpr uint64_t memory_profile = 1;     // the type of the buckets sought
constexpr size_t most_words = 1 << 25;     // of all buckets
constexpr uint64_t most_addresses = 1024;  // 32, and 128 from Go 1.23 on, unless asked for more
constexpr uint64_t largest_rate = uint64_t{1} << 36;  // heaps begin above it

// Memory in pieces, each read once: what is read twice is the same twice.
class Pieces {
 public:
  explicit Pieces(const ReadMemory& read) : read_(read) {}

  bool get(uint64_t address, void* to, size_t size) {
    auto* out = static_cast<std::byte*>(to);
    while (size > 0) {
      const std::vector<std::byte>& piece = this->piece(address / piece_size);
      const size_t at = address % piece_size, some = std::min(size, piece_size - at);
      if (piece.empty()) {
        if (!read_(address, {out, some})) return false;  // its neighbours cannot be read
      } else {
        std::memcpy(out, piece.data() + at, some);
      }
      address += some;
      out += some;
      size -= some;
    }
    return true;
  }

 private:
  static constexpr size_t piece_size = 1 << 16;

  const std::vector<std::byte>& piece(uint64_t number) {
    const auto [found, is_new] = pieces_.try_emplace(number);
    if (!is_new) return found->second;
    found->second.resize(piece_size);
    if (!read_(number * piece_size, found->second)) found->second.clear();
    return found->second;
  }

  const ReadMemory& read_;
  std::unordered_map<uint64_t, std::vector<std::byte>> pieces_;
};

struct Counts {
  uint64_t allocated = 0, freed = 0, allocated_bytes = 0, freed_bytes = 0;
};
constexpr size_t cycles_to_come = 3;

struct Bucket {
  uint64_t next_in_hash = 0, next = 0, type = 0, hash = 0, size = 0, addresses = 0;
};

struct Node {
  GoBucket bucket;
  std::array<Counts, 1 + cycles_to_come> counts{};  // the published ones come first
};

void add(GoBucket& to, const Counts& counts) {
  to.allocated += counts.allocated;
  to.freed += counts.freed;
  to.allocated_bytes += counts.allocated_bytes;
  to.freed_bytes += counts.freed_bytes;
}

template <class T>
std::optional<T> value_at(const ReadMemory& read, uint64_t address) {
  std::array<std::byte, sizeof(T)> bytes{};
  if (!read(address, bytes)) return std::nullopt;
  T value{};
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// A marker is not a caller, but a note of the runtime on the frame before it.
void erase_markers(std::vector<uint64_t>& pcs, const GoAddresses& addresses) {
  std::erase_if(
      pcs, [&](uint64_t pc) { return pc >= addresses.marker_start && pc < addresses.marker_end; });
}

// The list that begins there; nothing if it is not one of buckets of the heap profile.
std::optional<std::vector<Node>> list_at(const ReadMemory& read, uint64_t head,
                                         const GoAddresses& addresses) {
  const std::optional<uint64_t> first = value_at<uint64_t>(read, head);
  if (!first) return std::nullopt;
  Pieces pieces(read);
  std::vector<Node> list;
  size_t words = 0;
  uint64_t seen =
      0;  // a bucket that the walk has passed; it would come back if the list were a ring
  for (uint64_t at = *first; at != 0;) {
    Bucket bucket;
    if (at == seen || at % alignof(Bucket) != 0 || !pieces.get(at, &bucket, sizeof bucket) ||
        bucket.type != memory_profile || bucket.addresses > most_addresses)
      return std::nullopt;
    words += (sizeof(Node) / sizeof(uint64_t)) + bucket.addresses;
    if (words > most_words) return std::nullopt;
    if (std::has_single_bit(list.size())) seen = at;
    Node node;
    node.bucket.size = bucket.size;
    std::vector<uint64_t>& pcs = node.bucket.pcs;
    pcs.resize(bucket.addresses);
    const uint64_t figures = at + sizeof bucket + bucket.addresses * sizeof(uint64_t);
    if (!pieces.get(at + sizeof bucket, pcs.data(), pcs.size() * sizeof(uint64_t)) ||
        !pieces.get(figures, node.counts.data(), sizeof node.counts))
      return std::nullopt;
    erase_markers(pcs, addresses);
    list.push_back(std::move(node));
    at = bucket.next;
  }
  return list;
}

// As runtime.MemProfile() adds them up: what is published, and the cycle that is about to be; if
// nothing was ever published, all cycles.
GoHeap heap_of(std::vector<Node> list, uint32_t cycle) {
  GoHeap heap;
  const size_t due = 1 + (cycle >> 1) % cycles_to_come;
  heap.is_early = true;
  for (const Node& node : list)
    for (const size_t i : {size_t{0}, due})
      heap.is_early = heap.is_early && node.counts[i].allocated == 0 && node.counts[i].freed == 0;
  for (Node& node : list) {
    for (size_t i = 0; i < node.counts.size(); ++i)
      if (i == 0 || i == due || heap.is_early)
        add(node.bucket, node.counts[i]);
      else
        node.bucket.unpublished += node.counts[i].allocated;
    heap.buckets.push_back(std::move(node.bucket));
  }
  return heap;
}

// Blocks of a bucket all have its size, so a figure that is half changed is seen.
bool is_whole(const GoHeap& heap) {
  for (const GoBucket& bucket : heap.buckets)
    if (bucket.allocated * bucket.size != bucket.allocated_bytes ||
        bucket.freed * bucket.size != bucket.freed_bytes)
      return false;
  return true;
}

// One reading by a pair of candidates; nothing while the runtime changes it.
std::optional<GoHeap> reading(const ReadMemory& read, const GoAddresses& addresses, uint64_t head,
                              uint64_t cycle_at, bool& is_list) {
  const std::optional<uint32_t> before = value_at<uint32_t>(read, cycle_at);
  std::optional<std::vector<Node>> list = list_at(read, head, addresses);
  is_list = list.has_value();
  if (!list || !before || value_at<uint32_t>(read, cycle_at) != before) return std::nullopt;
  GoHeap heap = heap_of(std::move(*list), *before);
  if (!is_whole(heap)) return std::nullopt;
  return heap;
}

// A program may claim to have more than there can be.
int64_t bounded(double value) {
  constexpr double most = 9e18;
  return value < most ? static_cast<int64_t>(value) : static_cast<int64_t>(most);
}

}  // namespace

uint64_t go_rate(const ReadMemory& read, const GoAddresses& addresses) {
  // Code may load other words beside it, which are 0 or pointers.
  bool is_off = false;
  for (const uint64_t address : addresses.rate) {
    const auto rate = value_at<uint64_t>(read, address);
    if (rate && *rate != 0 && *rate <= largest_rate) return *rate;
    is_off = is_off || rate == uint64_t{0};
  }
  if (is_off) return 0;
  throw Error("the rate of Go's heap profile was not found in its runtime");
}

GoHeap read_go_heap(const ReadMemory& read, const GoAddresses& addresses, unsigned most_readings) {
  GoHeap none;
  none.rate = go_rate(read, addresses);
  if (addresses.cycle.empty()) throw Error("the cycle of Go's heap profile was not found");
  bool is_empty = false;
  for (const uint64_t head : addresses.buckets) {
    if (value_at<uint64_t>(read, head) == uint64_t{0}) {
      is_empty = true;
      continue;
    }
    bool is_list = false;
    std::optional<GoHeap> last;
    for (unsigned i = 1; i <= most_readings; ++i) {
      std::optional<GoHeap> heap = reading(read, addresses, head, addresses.cycle[0], is_list);
      if (!is_list) break;
      // While nothing is published, each allocation changes the figures, one bucket at a time.
      if (heap && last && (heap->is_early || heap->buckets == last->buckets)) {
        heap->rate = none.rate;
        heap->readings = i;
        heap->head = head;
        return *heap;
      }
      last = std::move(heap);
      if (i > 8) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (is_list)
      throw Error("Go's heap profile changed during each of " + std::to_string(most_readings) +
                  " readings: the program collects garbage all the time; try again");
  }
  if (is_empty) return none;
  throw Error(
      "the list of Go's heap profile was not found: this version of Go keeps it in another "
      "form");
}

GoHeap go_heap_of_copy(std::span<const std::vector<std::byte>> buckets, uint32_t cycle,
                       const GoAddresses& addresses, uint64_t& damaged) {
  std::vector<Node> list;
  for (const std::vector<std::byte>& bytes : buckets) {
    Bucket bucket;
    if (bytes.size() >= sizeof bucket) std::memcpy(&bucket, bytes.data(), sizeof bucket);
    Node node;
    const size_t addresses_bytes =
        std::min<uint64_t>(bucket.addresses, most_addresses) * sizeof(uint64_t);
    if (bucket.type != memory_profile || bucket.addresses > most_addresses ||
        bytes.size() != sizeof bucket + addresses_bytes + sizeof node.counts) {
      ++damaged;
      continue;
    }
    node.bucket.size = bucket.size;
    node.bucket.pcs.resize(bucket.addresses);
    std::memcpy(node.bucket.pcs.data(), bytes.data() + sizeof bucket, addresses_bytes);
    std::memcpy(node.counts.data(), bytes.data() + sizeof bucket + addresses_bytes,
                sizeof node.counts);
    erase_markers(node.bucket.pcs, addresses);
    list.push_back(std::move(node));
  }
  GoHeap heap = heap_of(std::move(list), cycle);
  for (GoBucket& bucket : heap.buckets) {
    bucket.allocated_bytes = bucket.allocated * bucket.size;
    bucket.freed_bytes = bucket.freed * bucket.size;
  }
  return heap;
}

GoEstimate go_estimate(uint64_t blocks, uint64_t bytes, uint64_t rate) {
  if (blocks == 0 || bytes == 0) return {};
  const auto count = static_cast<double>(blocks), size = static_cast<double>(bytes);
  if (rate <= 1) return {bounded(count), bounded(size)};
  const double scale = 1 / (1 - std::exp(-(size / count) / static_cast<double>(rate)));
  return {bounded(count * scale), bounded(size * scale)};
}

}  // namespace memflame
