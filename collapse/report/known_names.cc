// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/report/known_names.h"

#include <vector>

namespace memflame {

void KnownNames::use(Recording& recording, Places& places) const {
  for (auto& [module, addresses] : places.files)
    std::erase_if(addresses, [&, id = module](const NamelessAddress& address) {
      const auto known = names_.find({id, address.offset});
      if (known == names_.end()) return false;
      recording.locations[address.location.index].symbols = known->second;
      return true;
    });
  std::erase_if(places.files, [](const auto& file) { return file.second.empty(); });
}

void KnownNames::learn(const Recording& recording, const Places& places) {
  for (const auto& [module, addresses] : places.files)
    for (const NamelessAddress& address : addresses) {
      const SymbolList& symbols = recording.locations[address.location.index].symbols;
      // What has no name is asked for each time, because it is counted each time.
      if (!symbols.empty() && symbols.back().kind != FrameKind::unknown)
        names_.insert_or_assign({module, address.offset}, symbols);
    }
}

}  // namespace memflame
