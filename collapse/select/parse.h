// SPDX-License-Identifier: BSD-2-Clause
// Text of selections -> Query. docs/leak-hunting.md describes the language. How tightly operators
// bind, the loosest first:
//
//   or
//   and
//   not
//   + -       union, difference: of sets of blocks, or of times
//   &         intersection
//   comparisons, ( )
//
// `a + b` is the same as `a or b`, `a & b` as `a and b`, `a - b` as `a and not b`; they differ in
// how tightly they bind only. Behind a time, '+' and '-' belong to the time if another one follows.
//
// All of these throw Error (usage) that begins with the label and shows the place.
#pragma once

#include <string>
#include <string_view>

#include "collapse/select/query.h"

namespace memflame {

// Adds a condition that must be true as well. It may name the selections that were added before.
void add_where(Query& query, std::string label, std::string text);

// "NAME=EXPR"
void add_let(Query& query, const std::string& label, const std::string& text);

// The condition that an option stands for. `text` is only what the property is compared with; of
// names (kinds text and owner) it is the text itself, without quotes. Ranges are of times; their
// sides may be left out: start and end of the run.
void add_comparison(Query& query, std::string option, Property property, Comparison comparison,
                    std::string text);

// "leaked", or with `is` false "not leaked"
void add_flag(Query& query, std::string option, Property flag, bool is);

// "live at TEXT"
void add_live_at(Query& query, std::string option, std::string text);

}  // namespace memflame
