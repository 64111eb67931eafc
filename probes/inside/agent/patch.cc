// SPDX-License-Identifier: BSD-2-Clause
#include "patch.h"

#include "answers.h"
#include "hooked.h"
#include "python.h"
#include "sys.h"

namespace memflame::inside {
namespace {

bool is_loader(const Object& object) {
  return find_symbol(OwnMemory(), object.tables, object.base, "_rtld_global").address != 0;
}

// ---- the functions behind the hooks ----

struct Search {
  HookedList list = hooked_list();
  bool is_program = false;  // what defines malloc() is the program itself
  bool has_operators = false;
};

int look_for_originals(MemflameLoaded* loaded, size_t, void* data) {
  Search& search = *static_cast<Search*>(data);
  Object object;
  if (!describe(*loaded, object) || is_agent(object)) return 0;
  for (uint32_t i = 0; i < first_operator; ++i) {
    const Hooked& hooked = search.list.all[i];
    if (*hooked.original != 0) continue;
    *hooked.original = defined(object, hooked.name);
  }
  return 0;
}

int look_at_program(MemflameLoaded* loaded, size_t, void* data) {
  Object object;
  static_cast<Search*>(data)->is_program =
      describe(*loaded, object) && defined(object, "malloc") != 0;
  return 1;  // the first object is the program
}

// In the file of malloc() only: other operators call it.
int look_for_operators(MemflameLoaded* loaded, size_t, void* data) {
  Search& search = *static_cast<Search*>(data);
  Object object;
  if (!describe(*loaded, object) || is_agent(object) ||
      object.segment_at(reinterpret_cast<uint64_t>(real.malloc), 1) == nullptr ||
      defined(object, "_Znwm") == 0)
    return 0;
  search.has_operators = true;
  for (uint32_t i = first_operator; i < hooked_count; ++i)
    *search.list.all[i].original = defined(object, search.list.all[i].name);
  return 1;
}

// ---- slots ----

struct Change {
  HookedList list = hooked_list();
  bool puts_in = true;
  uint64_t changed = 0, failed = 0;
};

// Whether a slot still leads into the linkage table of its own file, which will have the dynamic
// linker look the function up: "push the relocation's number", or mold's "mov it to r11".
bool is_unresolved(const Object& object, uint64_t value, uint64_t index) {
  constexpr uint32_t endbr64 = 0xfa1e0ff3, longest = 16;
  const Elf64_Phdr* segment = object.segment_at(value, longest);
  if (segment == nullptr || (segment->p_flags & PF_X) == 0) return false;
  const auto* code = reinterpret_cast<const uint8_t*>(value);
  uint32_t word = 0;
  __builtin_memcpy(&word, code, sizeof(word));
  if (word == endbr64) code += sizeof(word);
  if (code[0] == 0x68)
    code += 1;
  else if (code[0] == 0x41 && code[1] == 0xbb)
    code += 2;
  else
    return false;
  __builtin_memcpy(&word, code, sizeof(word));
  return word == index;
}

bool set_slot(const Object& object, uint64_t slot, uint64_t value) {
  const Elf64_Phdr* segment = object.segment_at(slot, sizeof(value));
  if (segment == nullptr || (segment->p_flags & PF_W) == 0) return false;
  const long protection = prot_read | prot_write | ((segment->p_flags & PF_X) != 0 ? 4 : 0);
  if (syscall6(__NR_mprotect, static_cast<long>(slot & ~(page - 1)), page, protection) != 0)
    return false;
  store_release(*reinterpret_cast<uint64_t*>(slot), value);
  return true;
}

void change_slot(const Object& object, const Elf64_Rela& relocation, uint64_t index,
                 Change& change) {
  const uint64_t type = ELF64_R_TYPE(relocation.r_info);
  if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT && type != R_X86_64_64) return;
  const uint64_t slot = object.base + relocation.r_offset;
  if (slot % sizeof(uint64_t) != 0 || (type == R_X86_64_64 && relocation.r_addend != 0)) return;
  const auto* symbols = reinterpret_cast<const Elf64_Sym*>(object.tables.symbols);
  const auto* names = reinterpret_cast<const char*>(object.tables.names);
  const Hooked* const hooked =
      change.list.named(names + symbols[ELF64_R_SYM(relocation.r_info)].st_name);
  if (hooked == nullptr || *hooked->original == 0) return;
  if (object.segment_at(slot, sizeof(uint64_t)) == nullptr) return;
  const uint64_t value = load(*reinterpret_cast<const uint64_t*>(slot));
  const bool is_ours = value == hooked->hook;
  if (change.puts_in) {
    const bool is_real = value == *hooked->original ||
                         (type == R_X86_64_JUMP_SLOT && is_unresolved(object, value, index));
    if (is_ours || !is_real) return;
  } else if (!is_ours) {
    return;
  }
  if (set_slot(object, slot, change.puts_in ? hooked->hook : *hooked->original))
    ++change.changed;
  else
    ++change.failed;
}

int change_slots(MemflameLoaded* loaded, size_t, void* data) {
  Change& change = *static_cast<Change*>(data);
  Object object;
  if (!describe(*loaded, object) || is_agent(object) || is_loader(object)) return 0;
  const DynamicTables& tables = object.tables;
  const auto* calls = reinterpret_cast<const Elf64_Rela*>(tables.calls);
  const auto* others = reinterpret_cast<const Elf64_Rela*>(tables.relocations);
  if (calls != nullptr)
    for (uint64_t i = 0; i < tables.call_bytes / sizeof(Elf64_Rela); ++i)
      change_slot(object, calls[i], i, change);
  if (others != nullptr)
    for (uint64_t i = tables.relative; i < tables.relocation_bytes / sizeof(Elf64_Rela); ++i)
      change_slot(object, others[i], ~uint64_t{0}, change);
  return 0;
}

Changes change_all(bool puts_in) {
  Change change;
  change.puts_in = puts_in;
  // Twice: a thread that was about to resolve a slot may write to it after the first time.
  for (int pass = 0; pass < 2; ++pass) dl_iterate_phdr(change_slots, &change);
  return {change.changed, change.failed};
}

}  // namespace

AttachResult find_originals() {
  if (load_acquire(real.is_found) != 0) return attach_done;
  if (&dl_iterate_phdr == nullptr) return attach_unfounded;
  find_loaders();
  Search search;
  dl_iterate_phdr(look_for_originals, &search);
  if (real.malloc == nullptr || real.free == nullptr) return attach_unfounded;
  if (has_own_malloc()) return attach_in_program;
  real.is_libc = uint32_t{real.malloc == real.libc.malloc};
  dl_iterate_phdr(look_for_operators, &search);
  store_release(real.is_found, 1U);
  return attach_done;
}

bool has_own_malloc() {
  if (&dl_iterate_phdr == nullptr) return true;
  Search search;
  dl_iterate_phdr(look_at_program, &search);
  return search.is_program;
}

bool hook_operators() {
  if (&dl_iterate_phdr == nullptr) return false;
  Search search;
  // What loads libraries, as the operators' slots are in those that come later, too.
  dl_iterate_phdr(look_for_originals, &search);
  dl_iterate_phdr(look_for_operators, &search);
  if (!search.has_operators) return false;
  put_hooks_in();
  return true;
}

Changes put_hooks_in() {
  if (here != nullptr && here->control->python != 0) put_python_in();
  return change_all(true);
}
Changes take_hooks_out() {
  take_python_out();
  return change_all(false);
}

}  // namespace memflame::inside
