// SPDX-License-Identifier: BSD-2-Clause
// Formats that memflame knows but does not read: they are refused by name.
#pragma once

#include <string>
#include <string_view>

namespace memflame {

// All three complete "it is …", with a remedy if there is one: "packed with lz4: unpack it first,
// as with 'lz4 -dc FILE'". "" if the beginning tells nothing.

// By bytes that no text begins with: archives, programs, images, binary profiles.
std::string unread_binary(std::string_view head);

// By the first lines or the JSON's keys. Only for a beginning that no reader knows.
std::string unread_text(std::string_view head);

// Any other input that is not lines of text: JSON, XML, zero bytes. Folded text is not among them.
std::string unread_kind(std::string_view head);

}  // namespace memflame
