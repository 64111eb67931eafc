// SPDX-License-Identifier: BSD-2-Clause
#include "answers.h"

#include "hooked.h"
#include "patch.h"

namespace memflame::inside {
namespace {

// struct r_debug_extended of <link.h>: glibc has a list of namespaces since version 2.
struct Namespace {
  int version;
  const void* objects;
  uint64_t unused[3];
  const Namespace* next;
};

bool is_preloaded;
const Namespace* namespaces;

int look_for_loaders(MemflameLoaded* loaded, size_t, void* data) {
  const HookedList& list = *static_cast<const HookedList*>(data);
  Object object;
  if (!describe(*loaded, object) || is_agent(object)) return 0;
  for (uint32_t i = first_operator; i-- > first_loader;)
    if (*list.all[i].original == 0) *list.all[i].original = defined(object, list.all[i].name);
  if (namespaces == nullptr)
    namespaces = reinterpret_cast<const Namespace*>(
        find_symbol(OwnMemory(), object.tables, object.base, "_r_debug").address);
  return 0;
}

void* find_nothing() { return nullptr; }

// Who defines a function, in the order in which objects were loaded.
class Definers {
 public:
  Definers(const Hooked& hooked, uint64_t caller) : hooked_(hooked), caller_(caller) {}

  void look_at(const Object& object) {
    const uint64_t address = defined(object, hooked_.name);
    if (address != 0) {
      ++count_;
      if (is_behind_caller_ && next_ == 0) next_ = address;
    }
    if (object.segment_at(caller_, 1) == nullptr) return;
    is_behind_caller_ = true;
    is_caller_ = address != 0;
  }
  // Whether the function behind the hook is the next one for the caller. A library that came later
  // searches its own dependencies only, so that is known if nothing else has the function.
  // Allocators that wrap another one ask, too: they are given what they wrap.
  bool gives_original() const {
    return is_behind_caller_ && !is_caller_ && (next_ == *hooked_.original || count_ == 1);
  }

 private:
  const Hooked& hooked_;
  uint64_t caller_, next_ = 0;
  uint32_t count_ = 0;
  bool is_behind_caller_ = false;  // what is looked at
  bool is_caller_ = false;         // a definer
};

int look_for_definers(MemflameLoaded* loaded, size_t, void* data) {
  Object object;
  if (describe(*loaded, object) && !is_agent(object)) static_cast<Definers*>(data)->look_at(object);
  return 0;
}

// Whether dlsym(RTLD_NEXT) finds the function behind a hook.
bool is_next(const Hooked& hooked, uint64_t caller) {
  Definers definers(hooked, caller);
  dl_iterate_phdr(look_for_definers, &definers);
  return definers.gives_original();
}

bool has_place(const char* file) {
  for (bool found = false;; ++file) {
    if (*file == '$') return false;  // $ORIGIN is that of who asks
    found = found || *file == '/';
    if (*file == 0) return found;
  }
}

}  // namespace

void find_loaders() {
  if (memflame_real_dlopen != 0 || &dl_iterate_phdr == nullptr) return;  // the last to be found
  HookedList list = hooked_list();
  dl_iterate_phdr(look_for_loaders, &list);
  for (uint32_t i = first_operator; i-- > first_loader;)
    if (*list.all[i].original == 0)
      *list.all[i].original = reinterpret_cast<uint64_t>(&find_nothing);
}

bool is_nothing(uint64_t function) { return function == reinterpret_cast<uint64_t>(&find_nothing); }

void begin_answering() { store(is_preloaded, true); }

void* answer(void* handle, const char* name, const char* version, uint64_t caller) {
  void* const rtld_next = reinterpret_cast<void*>(-1L);
  if (name == nullptr || (!load(is_preloaded) && !follows_libraries())) return nullptr;
  const HookedList list = hooked_list();
  const Hooked* const hooked = list.named(name);
  if (hooked == nullptr || !find_real() || *hooked->original == 0) return nullptr;
  void* const hook = reinterpret_cast<void*>(hooked->hook);
  if (handle == rtld_next) return is_next(*hooked, caller) ? hook : nullptr;
  // The program's handle searches what RTLD_DEFAULT does first. The agent's own such call would
  // find the agent, which is linked with -Bsymbolic.
  constexpr int rtld_lazy = 1;
  const auto open = reinterpret_cast<void* (*)(const char*, int)>(memflame_real_dlopen);
  if (handle == nullptr) handle = open(nullptr, rtld_lazy);
  const auto find = reinterpret_cast<void* (*)(void*, const char*)>(memflame_real_dlsym);
  const auto find_version =
      reinterpret_cast<void* (*)(void*, const char*, const char*)>(memflame_real_dlvsym);
  void* const found = version != nullptr ? find_version(handle, name, version) : find(handle, name);
  return reinterpret_cast<uint64_t>(found) == *hooked->original ? hook : nullptr;
}

void* open_library(const char* file, int flags) {
  if (file == nullptr || !follows_libraries() || !has_place(file)) return nullptr;
  void* const handle =
      reinterpret_cast<void* (*)(const char*, int)>(memflame_real_dlopen)(file, flags);
  if (handle != nullptr) look_again();
  return handle;
}

uint32_t other_namespaces() {
  uint32_t count = 0;
  if (namespaces == nullptr || namespaces->version < 2) return 0;
  for (const Namespace* other = namespaces->next; other != nullptr; other = other->next)
    if (other->objects != nullptr) ++count;
  return count;
}

void count_namespace() {
  if (const Here* const process = begin_process(); process != nullptr)
    add(process->process->namespaces, 1);
}

}  // namespace memflame::inside
