#include "probes/spaces.h"

#include <doctest/doctest.h>

#include <vector>

using namespace memflame;

namespace {

Mapping mapping(uint64_t start, uint64_t end, uint32_t module, uint64_t offset = 0) {
  Mapping made;
  made.start = start;
  made.end = end;
  made.offset = offset;
  made.module = ModuleId{module};
  return made;
}

// "start-end module@offset", in order.
std::vector<std::string> visible(const std::vector<Mapping>& newest_first) {
  std::vector<const Mapping*> order;
  order.reserve(newest_first.size());
  for (const Mapping& m : newest_first) order.push_back(&m);
  std::vector<std::string> list;
  for (const Mapping& m : overlay(order))
    list.push_back(std::to_string(m.start) + "-" + std::to_string(m.end) + " " +
                   std::to_string(m.module.index) + "@" + std::to_string(m.offset));
  return list;
}

using List = std::vector<std::string>;

}  // namespace

TEST_CASE("mappings side by side are sorted") {
  CHECK(visible({mapping(30, 40, 1), mapping(10, 20, 2)}) == List{"10-20 2@0", "30-40 1@0"});
}

TEST_CASE("a newer mapping hides what it covers, and offsets go on behind it") {
  CHECK(visible({mapping(20, 30, 2), mapping(10, 40, 1, 100)}) ==
        List{"10-20 1@100", "20-30 2@0", "30-40 1@120"});
  CHECK(visible({mapping(10, 40, 2), mapping(20, 30, 1)}) == List{"10-40 2@0"});
  CHECK(visible({mapping(10, 20, 2), mapping(10, 30, 1)}) == List{"10-20 2@0", "20-30 1@10"});
  CHECK(visible({mapping(20, 30, 2), mapping(10, 30, 1)}) == List{"10-20 1@0", "20-30 2@0"});
}

TEST_CASE("one old mapping seen between several newer ones") {
  CHECK(visible({mapping(12, 14, 3), mapping(20, 22, 2), mapping(10, 30, 1)}) ==
        List{"10-12 1@0", "12-14 3@0", "14-20 1@4", "20-22 2@0", "22-30 1@12"});
}
