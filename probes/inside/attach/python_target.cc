// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/attach/python_target.h"

#include "probes/languages/python/versions.h"

namespace memflame::inside {

std::string why_no_python_heap(const AttachTarget& target) {
  const LoadedObject* const object = target.object_with("_PyRuntime");
  if (object == nullptr)
    return "no Python is in it, or one without symbols that extensions link against";
  const RemoteMemory& memory = target.memory();
  // Py_Version is as new as 3.11: 0x030b02f0 is 3.11.2.
  uint64_t number = 0;
  const FoundSymbol version = object->find(memory, "Py_Version");
  if (version.address == 0 || !memory.read(version.address, number) || number >> 24 != 3)
    return "its Python is older than 3.11";
  const auto minor = static_cast<unsigned>(number >> 16 & 0xff);
  for (const PythonVersion& known : python_versions) {
    if (known.minor != minor) continue;
    if (!has_table(known)) return "";
    struct {
      DebugOffsets words;
    } table{};
    const FoundSymbol runtime = object->find(memory, "_PyRuntime");
    if (!memory.read(runtime.address, table)) return "its Python cannot be read";
    if (table.words[debug_free_threaded] != 0) return "its Python is a build without a global lock";
    if (!has_offsets(table.words, known))
      return "its Python is laid out in another way than known builds of 3." +
             std::to_string(minor);
    return "";
  }
  return "its Python is 3." + std::to_string(minor) + ", not " + python_versions_read;
}

}  // namespace memflame::inside
