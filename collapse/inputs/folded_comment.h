// The comments of memflame's own folded text (core/folded.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/profile.h"

namespace memflame {

// What the comments of a text say. Several texts may follow each other: figures add up.
class FoldedComments {
 public:
  // `line` begins with folded_comment. False when it is damaged. Throws Error when it says another
  // unit or value than one before it.
  bool take(std::string_view line);

  bool any() const { return texts_ > 0; }
  bool roots_are_processes() const { return roots_are_processes_; }
  const std::optional<ValueType>& type() const { return type_; }

  // Moves everything into the profile; notes when its total is not the one that was announced.
  void finish(Profile& profile);

 private:
  struct Fields;
  bool begin_text(const Fields& fields);
  bool take_field(std::string_view key, std::string value);

  std::optional<ValueType> type_;
  Meta meta_;
  Losses losses_;
  int64_t total_ = 0;
  size_t texts_ = 0;
  bool roots_are_processes_ = false;
};

}  // namespace memflame
