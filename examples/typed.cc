// SPDX-License-Identifier: BSD-2-Clause
// Allocates objects of known types and sizes: 100 orders of 160 bytes, room for 10 accounts of 4096
// in one vector, 3 texts of 1001 in a vector with room for 3, and 5000 of plain malloc.
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace shop {

struct order {
  char bytes[160];
};
struct account {
  char bytes[4096];
};

__attribute__((noinline)) void take_orders(std::vector<std::unique_ptr<order>>& orders) {
  for (int i = 0; i < 100; ++i) orders.push_back(std::make_unique<order>());
}

__attribute__((noinline)) void open_accounts(std::vector<account>& accounts) {
  accounts.reserve(10);
}

__attribute__((noinline)) void write_text(std::vector<std::string>& texts) {
  for (int i = 0; i < 3; ++i) texts.emplace_back(1000, 'x');
}

__attribute__((noinline)) void* plain() { return std::malloc(5000); }

}  // namespace shop

int main() {
  std::vector<std::unique_ptr<shop::order>> orders;
  std::vector<shop::account> accounts;
  std::vector<std::string> texts;
  texts.reserve(3);
  shop::take_orders(orders);
  shop::open_accounts(accounts);
  shop::write_text(texts);
  std::free(shop::plain());
}
