// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/code_entries.h"

#include <doctest/doctest.h>

#include <list>
#include <string>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

// Where memory is short, PostgreSQL's other libraries had taken the room, and no thread of it could
// be read: whether that was so was a matter of the addresses that the libraries had.
TEST_CASE("tables of the C library are made before all others") {
  std::list<Module> modules;
  std::vector<std::pair<ModuleId, const Module*>> files;
  for (const char* path : {"/usr/bin/postgres", "/usr/lib/libcrypto.so.3", "/usr/lib/libc.so.6",
                           "/usr/lib/libc++.so.1", "/usr/lib/ld-linux-x86-64.so.2", "[vdso]"}) {
    Module& module = modules.emplace_back();
    module.path = path;
    files.emplace_back(ModuleId{static_cast<uint32_t>(modules.size())}, &module);
  }
  needed_first(files);
  std::string order;
  for (const auto& [id, module] : files) order += module->path + "\n";
  CHECK(order ==
        "/usr/lib/libc.so.6\n/usr/lib/ld-linux-x86-64.so.2\n/usr/bin/postgres\n"
        "/usr/lib/libcrypto.so.3\n/usr/lib/libc++.so.1\n[vdso]\n");
}
