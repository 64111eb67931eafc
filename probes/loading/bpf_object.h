// SPDX-License-Identifier: BSD-2-Clause
// One loaded BPF object: maps by name, programs by name, configuration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "probes/bpf/shared.h"
#include "probes/loading/deferred.h"
#include "probes/loading/kernel_types.h"

namespace memflame {

class BpfObject {
 public:
  // Parses the object (packed_object.h); nothing reaches the kernel before load(). Throws Error.
  explicit BpfObject(std::span<const std::byte> packed);
  ~BpfObject();
  BpfObject(const BpfObject&) = delete;
  BpfObject& operator=(const BpfObject&) = delete;

  // Before load().
  void resize(std::string_view map, uint32_t entries);
  void leave_out(std::string_view program);
  // Begins to make a map that has its size, beside what happens until load().
  void make_soon(std::string_view map);
  // load() does not wait for the program: program() does.
  void load_later(std::string_view program, When when) { deferred_.set_aside(find(program), when); }
  void set_attach_type(std::string_view program, int type);
  // Takes the map of another object, which must be loaded and outlive this one, in place of its
  // own. ".bss" is that of the globals. Throws Error.
  void share(std::string_view map, const BpfObject& other);

  // The read-only data of one probe's programs (section .rodata.own).
  template <class Block>
  void set_own(const Block& block) {
    set_own_bytes(std::as_bytes(std::span(&block, 1)));
  }

  void load(const bpf::config& config);

  // After load(). Descriptors belong to the object. Throws Error if the program had to be loaded
  // and was rejected.
  int map(std::string_view name) const;
  bpf_program* program(std::string_view name);
  // Waits for all programs that are loaded beside. Throws Error.
  void finish_loading() { deferred_.finish(); }
  // Begins to load the programs that are for later (When::after).
  void load_rest() { deferred_.begin_rest(); }

  // Visits every entry of a hash map, each at most once, although programs go on changing it. The
  // visitor must not change the map.
  template <class Key, class Value>
  void for_each(std::string_view name,
                const std::function<void(const Key&, const Value&)>& visit) const {
    for_each_bytes(name, sizeof(Key), sizeof(Value), [&](const void* key, const void* value) {
      visit(*static_cast<const Key*>(key), *static_cast<const Value*>(value));
    });
  }

  template <class Key, class Value>
  void update(std::string_view name, const Key& key, const Value& value) {
    update_bytes(name, &key, &value);
  }
  template <class Key, class Value>
  bool lookup(std::string_view name, const Key& key, Value& value) const {
    return lookup_bytes(name, &key, &value);
  }

  // False if it was not there.
  template <class Key>
  bool erase(std::string_view name, const Key& key) {
    return erase_bytes(name, &key);
  }

  // An entry of a per-CPU array of numbers, summed over all CPUs.
  uint64_t sum_of(std::string_view name, uint32_t index) const;
  // Sum over all CPUs.
  bpf::counters counters() const;
  // The object's writable globals, in the order of their declaration in maps.h.
  void arm(bool on);
  uint32_t new_space();
  // Programs look again whether the map `sums` has room: entries were erased.
  void sums_have_room();
  // The writable data of one probe's programs (section .data.own), mapped.
  template <class Block>
  Block& own_data() {
    return *static_cast<Block*>(map_own_data(sizeof(Block)));
  }

  // The kernel's address of the inode of the file mapped at `address` in memflame's own memory; 0
  // if it cannot be found.
  uint64_t inode_at(const void* address);

  // How often the kernel skipped a program because it was already running on that CPU.
  uint64_t skipped() const;

  // Kernel memory of the object's own maps, in bytes, as the kernel reports it.
  uint64_t map_memory() const;

 private:
  bpf_map* section(std::string_view suffix) const;
  bpf_program* find(std::string_view program) const;
  void set_own_bytes(std::span<const std::byte> block);
  void* map_own_data(size_t bytes);
  void for_each_bytes(std::string_view name, size_t key_size, size_t value_size,
                      const std::function<void(const void*, const void*)>& visit) const;
  void walk_bytes(int fd, size_t key_size, size_t value_size,
                  const std::function<void(const void*, const void*)>& visit) const;
  void update_bytes(std::string_view name, const void* key, const void* value);
  bool lookup_bytes(std::string_view name, const void* key, void* value) const;
  bool erase_bytes(std::string_view name, const void* key);

  KernelTypes types_;
  bpf_object* object_ = nullptr;
  bpf::globals* globals_ = nullptr;                // mapped .bss
  void* own_data_ = nullptr;                       // mapped .data.own
  bpf::object_globals* object_globals_ = nullptr;  // mapped .data.object, once it is needed
  std::set<const bpf_map*> shared_;                // of another object
  size_t own_bytes_ = 0;
  Deferred deferred_;
};

}  // namespace memflame
