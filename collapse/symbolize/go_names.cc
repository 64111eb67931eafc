// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/go_names.h"

namespace memflame {

GoNames::GoNames(const ElfFile& file) : table_(go_table(file.image(), file.headers())) {}

std::string_view GoNames::name_of(uint64_t address) const {
  const std::optional<GoFunctions>& all = table_.functions;
  const GoFunctions::Function* function = all ? all->find(address) : nullptr;
  return function == nullptr ? std::string_view{} : all->name(*function);
}

}  // namespace memflame
