// SPDX-License-Identifier: BSD-2-Clause
// The comments of memflame's own folded text (core/folded.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collapse/inputs/folded/folded_numbers.h"
#include "core/profile.h"

namespace memflame {

// The facts in a text's comments. Several texts may follow each other: their totals add up.
class FoldedComments {
 public:
  // `line` begins with folded_comment. False if it is damaged. Throws Error if it contradicts the
  // unit or value of an earlier one.
  bool take(std::string_view line);

  bool any() const { return texts_ > 0; }
  bool roots_are_processes() const { return roots_are_processes_; }
  // The columns of numbers; one if the text does not name them; none before a header.
  const std::vector<ValueType>& types() const { return types_; }
  size_t shown() const { return shown_; }

  // Moves everything into the profile. Adds a note if the profile's total differs from the
  // announced one.
  void finish(Profile& profile);

 private:
  struct Fields;
  bool begin_text(const Fields& fields);
  bool take_field(std::string_view key, std::string value);

  std::vector<ValueType> types_;
  size_t shown_ = 0;
  Meta meta_;
  Losses losses_;
  Decimal total_;
  bool total_is_known_ = true;
  size_t texts_ = 0;
  bool roots_are_processes_ = false;
};

}  // namespace memflame
