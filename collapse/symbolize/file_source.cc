// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/file_source.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "collapse/symbolize/vdso.h"
#include "core/elf/build_id.h"
#include "core/elf/debug_file.h"
#include "core/root_file.h"

namespace memflame {
namespace {

// libdebuginfod (elfutils), loaded only if the user has named servers: it brings a network stack.
// Prototypes as in debuginfod_find_debuginfo(3).
class DebugServers {
  using Begin = void*();
  using Find = int(void*, const unsigned char*, int, char**);
  using End = void(void*);

 public:
  DebugServers() : library_(::dlopen("libdebuginfod.so.1", RTLD_NOW)) {
    if (library_ == nullptr) return;
    begin_ = reinterpret_cast<Begin*>(::dlsym(library_, "debuginfod_begin"));
    find_debug_ = reinterpret_cast<Find*>(::dlsym(library_, "debuginfod_find_debuginfo"));
    find_program_ = reinterpret_cast<Find*>(::dlsym(library_, "debuginfod_find_executable"));
    end_ = reinterpret_cast<End*>(::dlsym(library_, "debuginfod_end"));
  }

  SharedFd find(DebugServerFile what, const std::string& build_id) const {
    Find* const ask = what == DebugServerFile::debug ? find_debug_ : find_program_;
    if (begin_ == nullptr || ask == nullptr || end_ == nullptr) return {};
    void* client = begin_();
    if (client == nullptr) return {};
    // A length of 0 says that the build id is hex.
    SharedFd file(
        ask(client, reinterpret_cast<const unsigned char*>(build_id.c_str()), 0, nullptr));
    end_(client);
    return file;
  }

 private:
  void* library_;  // never unloaded: it may have threads
  Begin* begin_ = nullptr;
  Find *find_debug_ = nullptr, *find_program_ = nullptr;
  End* end_ = nullptr;
};

}  // namespace

// The descriptor that was opened while the target lived, or else the file that has its name now. If
// that is gone or another one, as on a machine that did not run the program, it is looked for by
// its build id.
SharedFd OwnFiles::mapped() {
  if (module_.kind == ModuleKind::vdso) return own_vdso();
  if (module_.file.get() >= 0) return module_.file;
  SharedFd named = open_in_root(module_.root, module_.path);
  const std::string& id = module_.build_id;
  if (!is_build_id(id) || (named.get() >= 0 && build_id_of(named.get()) == id)) return named;
  SharedFd same = open_in_root("", program_of_build_id(id));
  if (same.get() < 0 || build_id_of(same.get()) != id)
    same = from_server(DebugServerFile::program, id);
  return same.get() >= 0 ? same : named;
}

SharedFd OwnFiles::from_server(DebugServerFile what, const std::string& build_id) {
  if (budget_.exhausted() || std::getenv("DEBUGINFOD_URLS") == nullptr) return {};
  const auto start = std::chrono::steady_clock::now();
  static const DebugServers servers;
  SharedFd file = servers.find(what, build_id);
  budget_.left -= std::chrono::steady_clock::now() - start;
  return file;
}

OpenedFile OwnFiles::in_place(const FileRequest& request) const {
  const std::vector<DebugPlace> places =
      request.kind == FileRequest::Kind::build_id
          ? places_of_build_id(module_.root, request.text)
          : places_of_link(module_.root, module_.path, request.text);
  if (request.place >= places.size()) return {};
  const auto& [root, path] = places[request.place];
  return {Found::file, open_in_root(root, path)};
}

OpenedFile OwnFiles::open(const FileRequest& request) {
  OpenedFile opened;
  switch (request.kind) {
    case FileRequest::Kind::mapped:
      if (request.place == 0) opened = {Found::file, mapped()};
      break;
    case FileRequest::Kind::build_id:
    case FileRequest::Kind::link:
      opened = in_place(request);
      break;
    case FileRequest::Kind::server:
      if (request.place == 0 && is_build_id(request.text))
        opened = {Found::file, from_server(DebugServerFile::debug, request.text)};
      break;
  }
  if (opened.found == Found::no_place) return {};
  if (opened.file.get() < 0) return {Found::nothing, {}};
  if (elf_class(opened.file.get()) == ElfClass::none) return {Found::not_elf, {}};
  return opened;
}

}  // namespace memflame
