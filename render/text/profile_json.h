// SPDX-License-Identifier: BSD-2-Clause
// The parts that JSON documents of a profile share. They are streamed: a profile may be larger than
// the free memory.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include "core/profile.h"
#include "render/order/frame_places.h"
#include "render/text/clean_text.h"

namespace memflame {

class ProfileJson {
 public:
  // The profile must outlive this object.
  ProfileJson(std::ostream& out, const Profile& profile)
      : out_(out), profile_(profile), clean_(clean_strings(profile)), replaced_(clean_.replaced) {}

 protected:
  std::string quoted(std::string_view text);
  std::string quoted(StringId id) const;

  // These follow other members of the object.
  void field(std::string_view key, std::string_view text) {
    out_ << ",\n\"" << key << "\":" << quoted(text);
  }
  // With a line for each item.
  template <class Items, class Write>
  void array(std::string_view key, const Items& items, const Write& write) {
    out_ << ",\n\"" << key << "\":";
    separated(items, ",\n", write);
  }
  // The places of frames: kind, module, file and line. A stack whose frames have places lists one
  // number per frame: 0 for none, 1 for the first of this list.
  void write_places();
  // Comes last, when all texts have been cleaned.
  void write_losses();

  // On one line, without a key.
  template <class Items, class Write>
  void list(const Items& items, const Write& write) {
    separated(items, ",", write);
  }

  std::ostream& out_;
  const Profile& profile_;
  const CleanStrings clean_;
  const FramePlaces places_ = frame_places(profile_);

 private:
  template <class Items, class Write>
  void separated(const Items& items, const char* separator, const Write& write) {
    const char* before = "";
    out_ << "[";
    for (const auto& item : items) {
      out_ << before;
      before = separator;
      write(item);
    }
    out_ << "]";
  }

  uint64_t replaced_;
};

}  // namespace memflame
