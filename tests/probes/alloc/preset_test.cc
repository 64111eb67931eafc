// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>

#include "core/error.h"
#include "core/unique_fd.h"
#include "probes/alloc/custom/custom.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

std::string error_of(const std::string& json) {
  try {
    parse_preset(json, "mine.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("the built-in presets are understood") {
  const std::vector<std::string> names = preset_names();
  for (const char* wanted : {"cuda", "glib-slices", "python", "lua", "sqlite", "apr-pools"})
    CHECK(std::ranges::count(names, wanted) == 1);
  for (const std::string& name : names) {
    CAPTURE(name);
    const CustomFunctions custom = read_custom({}, {}, {name});
    REQUIRE(custom.presets.size() == 1);
    const Preset& preset = custom.presets[0];
    CHECK(preset.name == name);
    CHECK(preset.description.size() > 10);
    CHECK(preset.functions.size() >= 2);
    // A preset names its files, or says that any file will do; it has no pairs of other presets.
    std::map<std::string, int> seen;
    for (const CustomFunction& function : preset.functions) {
      CHECK_FALSE(function.file.empty());
      CHECK(++seen[function.file + ":" + function.function] == 1);
      CHECK_FALSE(function.later);
    }
  }
}

TEST_CASE("CUDA's functions by their prototypes") {
  const Preset cuda = read_preset("cuda");
  const auto of = [&](const std::string& name) {
    const auto found = std::ranges::find(cuda.functions, name, &CustomFunction::function);
    REQUIRE(found != cuda.functions.end());
    return found->shape;
  };
  // cudaError_t cudaMalloc(void** devPtr, size_t size)
  CHECK(of("cudaMalloc").out == 1);
  CHECK(of("cudaMalloc").size == 2);
  // cudaError_t cudaMallocPitch(void** devPtr, size_t* pitch, size_t width, size_t height)
  CHECK(of("cudaMallocPitch").size == 3);
  CHECK(of("cudaMallocPitch").count == 4);
  // CUresult cuMemAlloc_v2(CUdeviceptr* dptr, size_t bytesize)
  CHECK(of("cuMemAlloc_v2").out == 1);
  // cudaError_t cudaFree(void* devPtr)
  CHECK(of("cudaFree").block == 1);
}

TEST_CASE("a preset of one's own, from a file") {
  char path_text[] = "/tmp/memflame-XXXXXX.json";
  const UniqueFd file(::mkstemps(path_text, 5));
  REQUIRE(file);
  const std::string path = path_text;
  std::ofstream(path) << R"json({"name": "mine", "description": "test",
    "alloc": ["lib.so:f(size=arg0)"], "free": ["lib.so:g(ptr=arg0)"]
})json";
  const Preset preset = read_preset(path);
  CHECK(preset.name == "mine");
  REQUIRE(preset.functions.size() == 2);
  CHECK(preset.functions[0].option == "--preset " + path + " (alloc)");
  CHECK_FALSE(preset.functions[0].later);
  CHECK(read_preset(path + ",later").functions[1].later);
  std::remove(path.c_str());
  CHECK_THROWS_WITH_AS(read_preset(path), doctest::Contains("cannot be read"), Error);
}

TEST_CASE("what is not a preset") {
  CHECK_THROWS_WITH_AS(read_preset("cudda"),
                       doctest::Contains("no preset 'cudda': there are apr-pools, cuda"), Error);
  struct Wrong {
    std::string json;
    const char* said;
  };
  const Wrong table[] = {
      {"[", "mine.json: is not JSON"},
      {"[]", "is not a JSON object"},
      {"{}", "has no \"name\""},
      {R"json({"name": 1, "description": "", "alloc": [], "free": []})json", "must be strings"},
      {R"json({"name": "", "description": "", "alloc": [], "free": []})json", "must be strings"},
      {R"json({"name": "a", "description": "", "alloc": {}, "free": []})json",
       "\"alloc\" is not a list"},
      {R"json({"name": "a", "description": "", "alloc": [1], "free": []})json", "not a string"},
      {R"json({"name": "a", "description": "", "alloc": [], "free": []})json", "declares nothing"},
      {R"json({"name": "a", "description": "", "frees": []})json", "unknown \"frees\""},
      {R"json({"name": "a", "description": "", "alloc": ["f(size=ret)"], "free": []})json",
       "'f(size=ret)', column 8: expected arg0 to arg5"},
      {std::string(200000, '['), "is not JSON"},
  };
  for (const Wrong& wrong : table) {
    const std::string said = error_of(wrong.json);
    CHECK_MESSAGE(said.find(wrong.said) != std::string::npos, said.substr(0, 300));
  }
}
