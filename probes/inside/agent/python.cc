// SPDX-License-Identifier: BSD-2-Clause
#include "python.h"

#include "objects.h"

extern "C" {
// python_hooks.h: declared without their arguments, as only their addresses are taken.
#define MEMFLAME_PYTHON_DOMAIN(number)                                           \
  __attribute__((visibility("hidden"))) void memflame_python_malloc_##number();  \
  __attribute__((visibility("hidden"))) void memflame_python_calloc_##number();  \
  __attribute__((visibility("hidden"))) void memflame_python_realloc_##number(); \
  __attribute__((visibility("hidden"))) void memflame_python_free_##number();
MEMFLAME_PYTHON_DOMAIN(0)
MEMFLAME_PYTHON_DOMAIN(1)
#undef MEMFLAME_PYTHON_DOMAIN
}

namespace memflame::inside {

Python python;

namespace {

using Word = PythonTable::Word;
using GetAllocator = void (*)(int, PythonTable*);

// PYMEM_DOMAIN_OBJ, PYMEM_DOMAIN_MEM.
constexpr int domain_of[python_domains] = {2, 1};

uint64_t hook_of(uint32_t domain, uint32_t call) {
  void (*const hooks[python_domains][python_calls])() = {
      {memflame_python_malloc_0, memflame_python_calloc_0, memflame_python_realloc_0,
       memflame_python_free_0},
      {memflame_python_malloc_1, memflame_python_calloc_1, memflame_python_realloc_1,
       memflame_python_free_1}};
  return reinterpret_cast<uint64_t>(hooks[domain][call]);
}

template <class Pointer>
void find_function(const Object& object, const char* name, Pointer& pointer) {
  const FoundSymbol found = find_symbol(OwnMemory(), object.tables, object.base, name);
  pointer = reinterpret_cast<Pointer>(found.type == STT_FUNC ? found.address : 0);
}

bool is_table(const Object& object, const PythonTable& table) {
  for (const Word function : table.functions) {
    const Elf64_Phdr* const segment = object.segment_at(function, 1);
    if (segment == nullptr || (segment->p_flags & PF_X) == 0) return false;
  }
  return true;
}

// Since 3.12 the tables are in the runtime: raw, memory, objects; behind them those of the debug
// hooks, each with a letter before it, by which they are found.
void find_in_runtime(const Object& object, const FoundSymbol& runtime) {
  constexpr uint64_t table_words = sizeof(PythonTable) / sizeof(Word);
  constexpr uint64_t all_words = 3 * table_words + 3 * (1 + table_words);
  auto* const words = reinterpret_cast<Word*>(runtime.address);
  const uint64_t count = runtime.size / sizeof(Word);
  for (uint64_t at = 0; at + all_words <= count; ++at) {
    constexpr char letters[] = "rmo";
    bool is_there = true;
    for (uint32_t i = 0; is_there && i < 3; ++i) {
      const Word* const debug = words + at + 3 * table_words + i * (1 + table_words);
      is_there = (*debug & 0xff) == static_cast<uint8_t>(letters[i]) &&
                 is_table(object, *reinterpret_cast<const PythonTable*>(debug + 1));
    }
    if (!is_there) continue;
    python.tables[python_memory] = reinterpret_cast<PythonTable*>(words + at + table_words);
    python.tables[python_objects] = reinterpret_cast<PythonTable*>(words + at + 2 * table_words);
    return;
  }
}

bool is_same(const PythonTable& a, const PythonTable& b) {
  bool same = a.context == b.context;
  for (uint32_t i = 0; i < python_calls; ++i) same = same && a.functions[i] == b.functions[i];
  return same;
}

bool is_read_only(const Object& object, uint64_t address) {
  for (uint32_t i = 0; i < object.loaded->segment_count; ++i) {
    const Elf64_Phdr& segment = object.loaded->segments[i];
    if (segment.p_type == PT_GNU_RELRO &&
        address - object.base - segment.p_vaddr < segment.p_memsz + 4096)
      return true;
  }
  return false;
}

// In 3.11 a table is a variable without a name. Others may have the same content, so it is found by
// what PyMem_GetAllocator() says once a hook is there, which works in each of them. (It takes no
// lock in 3.11.)
void find_by_content(const Object& object, GetAllocator get, uint32_t domain) {
  PythonTable wanted{};
  get(domain_of[domain], &wanted);
  for (uint32_t i = 0; i < object.loaded->segment_count; ++i) {
    const Elf64_Phdr& segment = object.loaded->segments[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) == 0) continue;
    const uint64_t begin = (object.base + segment.p_vaddr + 7) & ~uint64_t{7};
    const uint64_t end = object.base + segment.p_vaddr + segment.p_memsz;
    for (uint64_t at = begin; at + sizeof(PythonTable) <= end; at += sizeof(Word)) {
      auto& table = *reinterpret_cast<PythonTable*>(at);
      if (!is_same(table, wanted) || is_read_only(object, at)) continue;
      python.original[domain] = table;
      store_release(table.functions[python_free], hook_of(domain, python_free));
      PythonTable now{};
      get(domain_of[domain], &now);
      store_release(table.functions[python_free], wanted.functions[python_free]);
      if (now.functions[python_free] != hook_of(domain, python_free)) continue;
      python.tables[domain] = &table;
      return;
    }
  }
}

bool has_known_layout(const FoundSymbol& runtime) {
  for (const PythonVersion& version : python_versions) {
    if (version.minor != python.minor) continue;
    python.layout = version.layout;
    if (!has_table(version)) return true;
    if (runtime.size < sizeof(DebugOffsets)) return false;
    const auto& table = *reinterpret_cast<const DebugOffsets*>(runtime.address);
    return table[debug_free_threaded] == 0 && has_offsets(table, version);
  }
  return false;
}

int look_for_python(MemflameLoaded* loaded, size_t, void*) {
  Object object;
  if (!describe(*loaded, object)) return 0;
  const FoundSymbol runtime = find_symbol(OwnMemory(), object.tables, object.base, "_PyRuntime");
  if (runtime.address == 0) return 0;
  const FoundSymbol version = find_symbol(OwnMemory(), object.tables, object.base, "Py_Version");
  const uint64_t number =
      version.address != 0 ? *reinterpret_cast<const uint64_t*>(version.address) : 0;
  python.minor = number >> 24 == 3 ? static_cast<unsigned>(number >> 16 & 0xff) : 0;
  python.runtime = runtime.address;
  python.state = python_unfit;
  if (!has_known_layout(runtime)) return 1;
  GetAllocator get = nullptr;
  find_function(object, "PyMem_GetAllocator", get);
  find_function(object, "Py_IsInitialized", python.is_initialized);
  find_function(object, "_PyThreadState_UncheckedGet", python.current);
  if (python.current == nullptr)
    find_function(object, "PyThreadState_GetUnchecked", python.current);
  find_function(object, "PyGILState_GetThisThreadState", python.of_thread);
  python.state = python_not_found;
  if (get == nullptr || python.is_initialized == nullptr || python.current == nullptr ||
      python.of_thread == nullptr)
    return 1;
  if (python.minor >= 12) {
    find_in_runtime(object, runtime);
  } else {
    for (uint32_t domain = 0; domain < python_domains; ++domain)
      find_by_content(object, get, domain);
  }
  for (PythonTable* const table : python.tables)
    if (table == nullptr) return 1;
  python.state = python_absent;  // no hooks yet
  constexpr const char* names[python_domains][python_calls] = {
      {"PyObject_Malloc", "PyObject_Calloc", "PyObject_Realloc", "PyObject_Free"},
      {"PyMem_Malloc", "PyMem_Calloc", "PyMem_Realloc", "PyMem_Free"}};
  for (uint32_t domain = 0; domain < python_domains; ++domain)
    for (uint32_t call = 0; call < python_calls; ++call)
      find_function(object, names[domain][call], python.names[domain][call]);
  store_release(python.is_found, 1U);
  return 1;
}

void look_at_objects() {
  if (&dl_iterate_phdr != nullptr) dl_iterate_phdr(look_for_python, nullptr);
}

int look_whether_there(MemflameLoaded* loaded, size_t, void* is_there) {
  Object object;
  if (!describe(*loaded, object) || object.segment_at(python.runtime, 1) == nullptr) return 0;
  *static_cast<bool*>(is_there) =
      find_symbol(OwnMemory(), object.tables, object.base, "_PyRuntime").address == python.runtime;
  return 1;
}

// Whether Python is still loaded; forgets it otherwise.
bool is_there() {
  if (load_acquire(python.is_found) == 0) return false;
  bool is_there = false;
  dl_iterate_phdr(look_whether_there, &is_there);
  if (is_there) return true;
  store(python.tells, 0U);
  store(python.is_found, 0U);
  for (uint32_t domain = 0; domain < python_domains; ++domain) {
    python.has_hooks[domain] = 0;
    python.tables[domain] = nullptr;
  }
  return false;
}

bool is_hooked(uint32_t domain) {
  for (uint32_t call = 0; call < python_calls; ++call)
    if (load(python.tables[domain]->functions[call]) != hook_of(domain, call)) return false;
  return true;
}

// False if the table has other functions than those that the hooks would go on in: these may have
// the hooks below them, and would then be called for ever.
bool put_in(uint32_t domain) {
  if (is_hooked(domain)) return true;
  PythonTable& table = *python.tables[domain];
  PythonTable& original = python.original[domain];
  if (python.has_hooks[domain] == 0)
    original = table;
  else if (!is_same(table, original))
    return false;
  python.has_hooks[domain] = 1;
  for (uint32_t call = python_calls; call-- > 0;)  // the free first
    store_release(table.functions[call], hook_of(domain, call));
  return true;
}

uint32_t tells_functions() {
  return uint32_t{python.is_found != 0 && here != nullptr && load(here->phase) != phase_new &&
                  (here->control->python & python_functions) != 0};
}

}  // namespace

void put_python_in() {
  if (!is_there()) look_at_objects();
  if (python.is_found != 0) {
    python.state = python_hooked;
    for (uint32_t domain = 0; domain < python_domains; ++domain)
      if (!put_in(domain)) python.state = python_changed;
  }
  tell_python();
}

void tell_python() {
  store(here->process->python, python.state);
  store(python.tells, tells_functions());
  for (uint32_t call = 0; call < python_calls; ++call)
    for (uint32_t domain = 0; domain < python_domains; ++domain)
      store(here->process->functions[fn_python_malloc + call * python_domains + domain],
            python.names[domain][call]);
}

void take_python_out() {
  store(python.tells, 0U);
  if (!is_there()) return;
  bool has_changed = false;
  for (uint32_t domain = 0; domain < python_domains; ++domain) {
    if (python.has_hooks[domain] == 0) continue;
    PythonTable& table = *python.tables[domain];
    if (!is_hooked(domain)) {
      // Functions of the program's own: they may call on in the hooks, which stay as they are.
      has_changed = true;
      continue;
    }
    for (uint32_t call = 0; call < python_calls; ++call)
      store_release(table.functions[call], python.original[domain].functions[call]);
    python.has_hooks[domain] = 0;  // nothing leads to them any more
  }
  if (has_changed && here != nullptr && load(here->phase) != phase_new)
    store(here->process->python, static_cast<uint32_t>(python_changed));
}

void before_unloading() { store(python.tells, 0U); }
void after_unloading() {
  if (is_there()) store(python.tells, tells_functions());
}

void settle_python() {
  if (__atomic_exchange_n(&python.awaits, 0U, __ATOMIC_ACQUIRE) == 0) return;
  if (load(python.is_found) == 0) look_at_objects();
  if (python.is_found != 0 && python.is_initialized() == 0)
    store_release(python.awaits, 1U);
  else
    put_python_in();
}

}  // namespace memflame::inside
