// SPDX-License-Identifier: BSD-2-Clause
// C++ of which much is inlined, for lines that are compared with addr2line's.
#include <algorithm>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Words {
  std::map<std::string, std::vector<int>> places;

  void add(const std::string& word, int place) {
    std::vector<int>& list = places[word];
    if (!list.empty() && list.back() == place) throw std::logic_error("twice: " + word);
    list.push_back(place);
  }

  template <class Visit>
  void each(Visit visit) const {
    for (const auto& [word, list] : places) visit(word, list);
  }
};

int sum(const std::vector<int>& numbers) {
  int all = 0;
  for (const int number : numbers) all += number;
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  Words words;
  try {
    for (int i = 0; i < argc; ++i) words.add(argv[i], i);
  } catch (const std::exception&) {
    return 1;
  }
  std::vector<std::pair<int, std::string>> order;
  words.each([&](const std::string& word, const std::vector<int>& list) {
    order.emplace_back(sum(list), word);
  });
  std::sort(order.begin(), order.end(), std::greater<>());
  const std::function<bool(int)> known = [&](int n) {
    return std::any_of(order.begin(), order.end(), [n](const auto& one) { return one.first == n; });
  };
  return known(0) ? 0 : 1;
}
