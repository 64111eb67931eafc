// SPDX-License-Identifier: BSD-2-Clause
#include "render/text/profile_json.h"

#include "core/kind_names.h"

namespace memflame {

std::string ProfileJson::quoted(std::string_view text) {
  std::string out = "\"";
  append_json(out, clean_text(text, replaced_));
  return out + "\"";
}

std::string ProfileJson::quoted(StringId id) const {
  std::string out = "\"";
  append_json(out, clean_[id]);
  return out + "\"";
}

void ProfileJson::write_places() {
  const auto text = [&](std::string_view key, StringId id) {
    if (id) out_ << ",\"" << key << "\":" << quoted(id);
  };
  array("places", places_.list, [&](const Frame& place) {
    out_ << "{\"kind\":\"" << name(place.kind) << '"';
    text("module", place.module);
    text("file", place.file);
    if (place.line != 0) out_ << ",\"line\":" << place.line;
    out_ << "}";
  });
}

void ProfileJson::write_losses() {
  Losses losses = profile_.losses;
  losses.add(Loss::replaced_bytes, replaced_);
  out_ << ",\n\"losses\":{";
  for (size_t i = 0; i < loss_info.size(); ++i) {
    const LossCount& count = losses[static_cast<Loss>(i)];
    out_ << (i == 0 ? "" : ",\n") << quoted(loss_info[i].name) << ":{\"events\":" << count.events
         << ",\"bytes\":" << count.bytes << "}";
  }
  out_ << "}";
}

}  // namespace memflame
