// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/nameless_code.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "collapse/symbolize/address_space.h"
#include "collapse/symbolize/places.h"
#include "core/units.h"

namespace memflame {
namespace {

enum class Runtime : uint8_t { other, java, node, python, dotnet, ruby, php, erlang, qemu };

struct Sign {
  std::string_view file;  // a mapped file's name, without its version
  Runtime runtime;
};
// Libraries first: an interpreter may be part of a program with another name.
constexpr std::array signs = {
    Sign{"libjvm.so", Runtime::java},  Sign{"libcoreclr.so", Runtime::dotnet},
    Sign{"libnode.so", Runtime::node}, Sign{"node", Runtime::node},
    Sign{"nodejs", Runtime::node},     Sign{"libruby", Runtime::ruby},
    Sign{"ruby", Runtime::ruby},       Sign{"php", Runtime::php},
    Sign{"libphp", Runtime::php},      Sign{"beam.smp", Runtime::erlang},
    Sign{"qemu-", Runtime::qemu},      Sign{"libpython3", Runtime::python},
    Sign{"python3", Runtime::python},
};

struct Counted {
  uint64_t events = 0;  // frames without a name, each as often as its stack
  uint32_t pid = 0;
  bool has_map = false;
};

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// "libruby-3.3.so.3.3", "qemu-x86_64", not "node_exporter".
bool is_named(std::string_view file, std::string_view sign) {
  if (!file.starts_with(sign)) return false;
  const std::string_view rest = file.substr(sign.size());
  return rest.empty() || sign.back() == '-' ||
         std::string_view("0123456789.-").find(rest.front()) != std::string_view::npos;
}

Runtime runtime_of(const Recording& recording, SpaceId space) {
  size_t best = signs.size();
  for (int i = 0; i < max_ancestors && space && space.index < recording.spaces.size(); ++i) {
    for (const Mapping& mapping : recording.spaces[space.index].mappings) {
      const std::string_view name = base_name(recording.modules[mapping.module.index].path);
      for (size_t s = 0; s < best; ++s)
        if (is_named(name, signs[s].file)) best = s;
    }
    space = recording.spaces[space.index].forked_from;
  }
  return best == signs.size() ? Runtime::other : signs[best].runtime;
}

// Code of no file, or of one that exists in memory only.
bool is_nameless(const Location& location) {
  if (location.symbols.size() != 1 || location.symbols[0].kind != FrameKind::unknown) return false;
  const std::string& module = location.symbols[0].module;
  return module == "[anon]" || module.starts_with("/memfd:");
}

std::string remedy(Runtime runtime, const std::string& pid) {
  switch (runtime) {
    case Runtime::java:
      return "Java: `jcmd " + pid +
             " Compiler.perfmap` (JDK 17 or later) while memflame counts gives names; for whole "
             "stacks start it with -XX:+PreserveFramePointer";
    case Runtime::node:
      return "node: start it with --perf-basic-prof";
    case Runtime::python:
      return "Python 3.12 or later: start it with PYTHONPERFSUPPORT=1, or -X perf";
    case Runtime::dotnet:
      return ".NET: start it with DOTNET_PerfMapEnabled=1";
    case Runtime::ruby:
      return "Ruby 3.3 or later: start it with --yjit-perf=map";
    case Runtime::php:
      return "PHP: opcache.jit_debug=16 writes a perf map";
    case Runtime::erlang:
      return "Erlang 24 or later: start it with +JPperf map";
    case Runtime::qemu:
      return "QEMU: start it with -perfmap";
    case Runtime::other:
      break;
  }
  return "a runtime that can write /tmp/perf-" + pid + ".map names it";
}

}  // namespace

std::vector<std::string> advice_on_nameless_code(const Recording& recording) {
  std::vector<uint64_t> events(recording.stacks.size());
  for (const Aggregate& sum : recording.sums)
    if (sum.joint.empty() && sum.stack.index < events.size())  // fold() refuses other recordings
      events[sum.stack.index] += static_cast<uint64_t>(std::max<int64_t>(sum.events, 1));
  uint64_t all = 0, nameless = 0;
  std::map<Runtime, Counted> found;
  for (size_t s = 1; s < recording.stacks.size() && s < recording.frames.size(); ++s) {
    const RawStack& stack = recording.stacks[s];
    uint64_t here = 0;
    for (size_t i = stack.kernel_pcs; i < recording.frames[s].size(); ++i) {
      all += events[s];
      if (is_nameless(recording.locations[recording.frames[s][i].index])) here += events[s];
    }
    if (here == 0) continue;
    nameless += here;
    Counted& counted = found[runtime_of(recording, stack.space)];
    counted.events += here;
    const Space& space = recording.spaces[perf_map_owner(recording, stack.space).index];
    counted.pid = space.pid;
    counted.has_map = counted.has_map || !space.perf_map.empty();
  }
  const bool many = nameless > all / 10;
  std::vector<std::string> advice;
  for (const auto& [runtime, counted] : found) {
    const bool is_java = runtime == Runtime::java && !counted.has_map;
    if (!is_java && (!many || counted.events < nameless / 10)) continue;
    std::string text = percent(static_cast<double>(counted.events), static_cast<double>(all)) +
                       " of the frames are code made at run time, without a name ([anon+…])";
    if (counted.has_map) text += ", which the process's perf map does not have";
    advice.push_back(text + "; " + remedy(runtime, std::to_string(counted.pid)));
  }
  return advice;
}

}  // namespace memflame
