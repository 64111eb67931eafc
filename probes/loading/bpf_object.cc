// SPDX-License-Identifier: BSD-2-Clause
#include "probes/loading/bpf_object.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <vector>

#include "core/error.h"
#include "probes/system/packed_object.h"

namespace memflame {
namespace {

// What libbpf has printed about the current object: many lines, of which errors quote one.
std::string libbpf_log;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

__attribute__((format(printf, 2, 0))) int keep_log(enum libbpf_print_level level,
                                                   const char* format, va_list args) {
  if (level == LIBBPF_DEBUG) return 0;
  va_list again;
  va_copy(again, args);
  const int length = std::vsnprintf(nullptr, 0, format, again);
  va_end(again);
  if (length <= 0) return 0;
  std::string line(static_cast<size_t>(length) + 1, '\0');
  std::vsnprintf(line.data(), line.size(), format, args);
  line.pop_back();
  libbpf_log += line;
  return 0;
}

// Entries asked for in one call.
constexpr uint32_t first_batch = 1 << 13;
constexpr uint32_t largest_batch = 1 << 24;

void* map_data(int fd, size_t bytes) {
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED)
    throw Error(std::string("the BPF program's globals cannot be mapped: ") + std::strerror(errno));
  return mapped;
}

}  // namespace

BpfObject::BpfObject(std::span<const std::byte> packed) {
  libbpf_set_print(keep_log);
  libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
  libbpf_log.clear();
  Deferred::listen();
  object_ = open_packed(packed, types_.path());
  if (object_ == nullptr)
    throw Error("the BPF program could not be read: " + reason_in(libbpf_log),
                ExitCode::requirement);
  types_.fill(object_);
}

BpfObject::~BpfObject() {
  types_.wait();
  deferred_.abandon();
  if (globals_ != nullptr) ::munmap(globals_, sizeof(bpf::globals));
  if (own_data_ != nullptr) ::munmap(own_data_, own_bytes_);
  if (object_globals_ != nullptr) ::munmap(object_globals_, sizeof(bpf::object_globals));
  bpf_object__close(object_);
}

void BpfObject::resize(std::string_view map, uint32_t entries) {
  bpf_map__set_max_entries(bpf_object__find_map_by_name(object_, std::string(map).c_str()),
                           entries);
}

void BpfObject::make_soon(std::string_view map) {
  deferred_.make(bpf_object__find_map_by_name(object_, std::string(map).c_str()));
}

void BpfObject::leave_out(std::string_view name) { bpf_program__set_autoload(find(name), false); }

void BpfObject::set_attach_type(std::string_view name, int type) {
  bpf_program__set_expected_attach_type(find(name), static_cast<bpf_attach_type>(type));
}

void BpfObject::set_own_bytes(std::span<const std::byte> block) {
  bpf_map* section = bpf_object__find_map_by_name(object_, ".rodata.own");
  if (section == nullptr || bpf_map__set_initial_value(section, block.data(), block.size()) != 0)
    throw Error("internal: the probe's configuration does not fit its BPF object");
}

// libbpf puts a name of its own before those of .rodata and .bss.
bpf_map* BpfObject::section(std::string_view suffix) const {
  bpf_map* each = nullptr;
  bpf_object__for_each_map(each, object_) {
    if (std::string_view(bpf_map__name(each)).ends_with(suffix)) return each;
  }
  return nullptr;
}

void BpfObject::share(std::string_view name, const BpfObject& other) {
  const bool is_section = name.starts_with('.');
  const std::string text(name);
  bpf_map* own = is_section ? section(name) : bpf_object__find_map_by_name(object_, text.c_str());
  const bpf_map* theirs =
      is_section ? other.section(name) : bpf_object__find_map_by_name(other.object_, text.c_str());
  if (own == nullptr || theirs == nullptr || bpf_map__reuse_fd(own, bpf_map__fd(theirs)) != 0)
    throw Error("internal: two BPF objects cannot share the map " + text);
  shared_.insert(own);
}

void BpfObject::load(const bpf::config& config) {
  bpf_map* rodata = section(".rodata");
  bpf_map* bss = section(".bss");
  size_t size = 0;
  const void* initial = rodata ? bpf_map__initial_value(rodata, &size) : nullptr;
  if (initial == nullptr || size < sizeof(config) || bss == nullptr)
    throw Error("internal: the BPF object has no configuration section");
  std::vector<std::byte> section(size);
  std::memcpy(section.data(), initial, size);
  std::memcpy(section.data(), &config, sizeof(config));
  bpf_map__set_initial_value(rodata, section.data(), size);
  types_.ready();
  if (const int error = deferred_.load(object_)) throw_rejected(-error, libbpf_log);
  globals_ = static_cast<bpf::globals*>(map_data(bpf_map__fd(bss), sizeof(bpf::globals)));
}

void* BpfObject::map_own_data(size_t bytes) {
  if (own_data_ == nullptr) {
    own_data_ = map_data(map(".data.own"), bytes);
    own_bytes_ = bytes;
  }
  return own_data_;
}

int BpfObject::map(std::string_view name) const {
  const int fd = bpf_object__find_map_fd_by_name(object_, std::string(name).c_str());
  if (fd < 0) throw Error("internal: no BPF map " + std::string(name));
  return fd;
}

bpf_program* BpfObject::program(std::string_view name) {
  bpf_program* found = find(name);
  deferred_.finish(found);
  return found;
}

bpf_program* BpfObject::find(std::string_view name) const {
  bpf_program* found = bpf_object__find_program_by_name(object_, std::string(name).c_str());
  if (found == nullptr) throw Error("internal: no BPF program " + std::string(name));
  return found;
}

// Reads in batches: a million entries take a fraction of a second, and a deleted key does not make
// the kernel start again from the beginning, as it would key by key.
void BpfObject::for_each_bytes(std::string_view name, size_t key_size, size_t value_size,
                               const std::function<void(const void*, const void*)>& visit) const {
  const int fd = map(name);
  uint32_t room = first_batch;
  std::vector<std::byte> keys(room * key_size);
  std::vector<std::byte> values(room * value_size);
  // The kernel's place in the table. It is as large as a key for some kinds of maps.
  std::vector<std::byte> place(std::max(key_size, sizeof(uint64_t)));
  std::vector<std::byte> next(place.size());
  for (bool begun = false;;) {
    uint32_t count = room;
    const int error = bpf_map_lookup_batch(fd, begun ? place.data() : nullptr, next.data(),
                                           keys.data(), values.data(), &count, nullptr);
    if (error == -ENOSPC && room < largest_batch) {  // a bucket holds more than that
      room *= 2;
      keys.resize(room * key_size);
      values.resize(room * value_size);
      continue;
    }
    if (error != 0 && error != -ENOENT) {
      if (begun)
        throw Error("the table " + std::string(name) +
                    " could not be read: " + std::strerror(-error));
      return walk_bytes(fd, key_size, value_size, visit);
    }
    for (size_t i = 0; i < std::min(count, room); ++i)
      visit(&keys[i * key_size], &values[i * value_size]);
    if (error == -ENOENT) return;  // that was the last one
    place = next;
    begun = true;
  }
}

// For kinds of maps without batches.
void BpfObject::walk_bytes(int fd, size_t key_size, size_t value_size,
                           const std::function<void(const void*, const void*)>& visit) const {
  std::vector<std::byte> key(key_size);
  std::vector<std::byte> next(key_size);
  std::vector<std::byte> value(value_size);
  const void* previous = nullptr;
  while (bpf_map_get_next_key(fd, previous, next.data()) == 0) {
    if (bpf_map_lookup_elem(fd, next.data(), value.data()) == 0) visit(next.data(), value.data());
    key = next;
    previous = key.data();
  }
}

void BpfObject::update_bytes(std::string_view name, const void* key, const void* value) {
  if (bpf_map_update_elem(map(name), key, value, BPF_ANY) != 0)
    throw Error("no entry could be written to the table " + std::string(name) + ": " +
                std::strerror(errno));
}

bool BpfObject::lookup_bytes(std::string_view name, const void* key, void* value) const {
  return bpf_map_lookup_elem(map(name), key, value) == 0;
}

bool BpfObject::erase_bytes(std::string_view name, const void* key) {
  return bpf_map_delete_elem(map(name), key) == 0;
}

uint64_t BpfObject::sum_of(std::string_view name, uint32_t index) const {
  std::vector<uint64_t> cells(static_cast<size_t>(libbpf_num_possible_cpus()));
  if (bpf_map_lookup_elem(map(name), &index, cells.data()) != 0) return 0;
  return std::accumulate(cells.begin(), cells.end(), uint64_t{0});
}

bpf::counters BpfObject::counters() const {
  const int cpus = libbpf_num_possible_cpus();
  constexpr size_t words = sizeof(bpf::counters) / sizeof(uint64_t);
  std::vector<uint64_t> cells(static_cast<size_t>(cpus) * words);
  const uint32_t zero = 0;
  bpf::counters sum{};
  if (bpf_map_lookup_elem(map("counters"), &zero, cells.data()) != 0) return sum;
  std::array<uint64_t, words> sums{};
  for (size_t i = 0; i < cells.size(); ++i) sums[i % words] += cells[i];
  std::memcpy(&sum, sums.data(), sizeof(sum));
  return sum;
}

void BpfObject::arm(bool on) { __atomic_store_n(&globals_->armed, on ? 1U : 0U, __ATOMIC_SEQ_CST); }

void BpfObject::sums_have_room() {
  if (object_globals_ == nullptr)
    object_globals_ = static_cast<bpf::object_globals*>(
        map_data(map(".data.object"), sizeof(bpf::object_globals)));
  __atomic_store_n(&object_globals_->stack_table_is_full, 0U, __ATOMIC_SEQ_CST);
}

uint32_t BpfObject::new_space() {
  return __atomic_add_fetch(&globals_->next_space, 1U, __ATOMIC_SEQ_CST);
}

uint64_t BpfObject::inode_at(const void* address) {
  std::array<uint64_t, 1> context{reinterpret_cast<uint64_t>(address)};
  bpf_test_run_opts options{};
  options.sz = sizeof(options);
  options.ctx_in = context.data();
  options.ctx_size_in = sizeof(context);
  const int fd = bpf_program__fd(program("memflame_inode"));
  // It fails while another thread changes mappings: the kernel does not wait for the lock.
  for (int attempt = 0; attempt < 8; ++attempt) {
    if (bpf_prog_test_run_opts(fd, &options) != 0) return 0;
    const uint64_t inode = __atomic_load_n(&globals_->inode, __ATOMIC_SEQ_CST);
    if (inode != 0) return inode;
  }
  return 0;
}

uint64_t BpfObject::skipped() const {
  uint64_t skipped = 0;
  bpf_program* each = nullptr;
  bpf_object__for_each_program(each, object_) {
    bpf_prog_info info{};
    uint32_t size = sizeof(info);
    const int fd = bpf_program__fd(each);
    if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0) skipped += info.recursion_misses;
  }
  return skipped;
}

uint64_t BpfObject::map_memory() const {
  uint64_t bytes = 0;
  bpf_map* each = nullptr;
  bpf_object__for_each_map(each, object_) {
    if (shared_.contains(each)) continue;
    const std::string path = "/proc/self/fdinfo/" + std::to_string(bpf_map__fd(each));
    FILE* info = std::fopen(path.c_str(), "re");
    if (info == nullptr) continue;
    std::array<char, 256> line{};
    unsigned long long value = 0;
    while (std::fgets(line.data(), line.size(), info) != nullptr)
      if (std::sscanf(line.data(), "memlock: %llu", &value) == 1) bytes += value;
    std::fclose(info);
  }
  return bytes;
}

}  // namespace memflame
