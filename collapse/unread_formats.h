// SPDX-License-Identifier: BSD-2-Clause
// Formats that memflame knows but does not read: they are refused by name.
#pragma once

#include <string>
#include <string_view>

namespace memflame {

// All three complete "it is …", with what to do about it where there is something: "packed with
// bzip2: unpack it first, as with 'bzip2 -dc FILE'". "" when the beginning tells nothing.

// By bytes that no text begins with: archives, programs, images, binary profiles.
std::string unread_binary(std::string_view head);

// By what the first lines or the JSON's keys say. Only for a beginning that no reader knows.
std::string unread_text(std::string_view head);

// Any other that is not lines of text: JSON, XML, bytes that are 0. Folded text is not one of
// these.
std::string unread_kind(std::string_view head);

}  // namespace memflame
