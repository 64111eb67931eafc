// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/select/parse.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "collapse/select/lexer.h"
#include "core/error.h"
#include "core/nearest.h"
#include "core/re2_text.h"
#include "core/units.h"

namespace memflame {
namespace {

constexpr size_t deepest = 100, most_conditions = 1000, most_named = 100;

struct ComparisonSign {
  std::string_view text;
  Comparison comparison;
};
constexpr std::array order_signs{
    ComparisonSign{"=", Comparison::equal},  ComparisonSign{"!=", Comparison::unequal},
    ComparisonSign{"<", Comparison::less},   ComparisonSign{"<=", Comparison::at_most},
    ComparisonSign{">", Comparison::more},   ComparisonSign{">=", Comparison::at_least},
    ComparisonSign{"in", Comparison::within}};
constexpr std::array name_signs{
    ComparisonSign{"=", Comparison::equal}, ComparisonSign{"!=", Comparison::unequal},
    ComparisonSign{"~", Comparison::matches}, ComparisonSign{"!~", Comparison::matches_not}};

constexpr std::array<std::string_view, 8> reserved{"and", "or",    "not", "in",
                                                   "at",  "start", "end", "peak"};

bool is_pattern(Comparison comparison) {
  return comparison == Comparison::matches || comparison == Comparison::matches_not;
}

void require_pattern(const Expression& expression, size_t at, const std::string& text) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  const re2::RE2 pattern(re2_text(text), options);
  if (!pattern.ok()) fail_at(expression, at, "not a regular expression: " + pattern.error());
}

bool has_name(ValueKind kind) { return kind == ValueKind::text || kind == ValueKind::owner; }

std::string_view words_for(ValueKind kind) {
  switch (kind) {
    case ValueKind::time:
      return "a time (12.5s, 100ms, 98%, start, end, peak or a \"marker\")";
    case ValueKind::bytes:
      return "a number of bytes (4096, 4K, 1.5MiB)";
    case ValueKind::count:
      return "a whole number";
    case ValueKind::address:
      return "an address (0x7f00)";
    case ValueKind::share:
      return "a share (50%, 0.5)";
    case ValueKind::owner:
      return "an id, or a name in quotes";
    case ValueKind::text:
    case ValueKind::flag:
      break;
  }
  return "text in quotes";
}

class Parser {
 public:
  Parser(const Query& query, Expression expression)
      : query_(query), expression_(std::move(expression)), tokens_(tokens_of(expression_)) {}

  Expression whole() {
    expression_.root = any_of();
    require_end("'and', 'or', '+', '-', '&'");
    return std::move(expression_);
  }

  // What an option says of a property.
  Expression comparison(Property property, Comparison comparison) {
    Clause node{.property = property, .comparison = comparison};
    if (comparison == Comparison::within)
      range(node, ValueKind::time, true);
    else
      node.value = value(info_of(property).kind);
    return only(std::move(node));
  }

  Expression live_at() {
    Clause node{.kind = Clause::Kind::live_at};
    node.value = value(ValueKind::time);
    return only(std::move(node));
  }

 private:
  Expression only(Clause node) {
    require_end("nothing more");
    expression_.root = add(std::move(node));
    return std::move(expression_);
  }

  const SelectToken& token() const { return tokens_[at_]; }
  const SelectToken& following() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  bool take(std::string_view sign) {
    if (!token().is(sign)) return false;
    ++at_;
    return true;
  }

  [[noreturn]] void expected(std::string_view what) const {
    const std::string found = token().kind == SelectToken::Kind::end
                                  ? "but the selection ends here"
                                  : "not '" + std::string(token().text.substr(0, 40)) + "'";
    fail_at(expression_, token().at, "expected " + std::string(what) + ", " + found);
  }

  void require_end(std::string_view what) const {
    if (token().kind != SelectToken::Kind::end) expected(std::string(what) + " or the end");
  }

  uint32_t add(Clause node) {
    if (expression_.nodes.size() == 2 * most_conditions)
      throw Error(expression_.label + ": the selection has more than 1,000 conditions",
                  ExitCode::usage);
    expression_.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(expression_.nodes.size() - 1);
  }

  // A list of parts needs a node only if it has more than one.
  uint32_t joined(Clause::Kind kind, uint32_t at, std::vector<uint32_t> parts) {
    if (parts.size() == 1) return parts.front();
    return add({.kind = kind, .at = at, .parts = std::move(parts)});
  }

  uint32_t any_of() {
    const uint32_t at = token().at;
    std::vector<uint32_t> parts{all_of()};
    while (take("or")) parts.push_back(all_of());
    return joined(Clause::Kind::any_of, at, std::move(parts));
  }

  uint32_t all_of() {
    const uint32_t at = token().at;
    std::vector<uint32_t> parts{negated()};
    while (take("and")) parts.push_back(negated());
    return joined(Clause::Kind::all_of, at, std::move(parts));
  }

  uint32_t negated() {
    const uint32_t at = token().at;
    bool is_negated = false;
    while (take("not")) is_negated = !is_negated;
    const uint32_t part = sum_of_sets();
    return is_negated ? add({.kind = Clause::Kind::none_of, .at = at, .parts = {part}}) : part;
  }

  uint32_t sum_of_sets() {
    const uint32_t at = token().at;
    uint32_t left = common_of_sets();
    while (token().is("+") || token().is("-")) {
      const bool is_union = take("+");
      if (!is_union) take("-");
      uint32_t right = common_of_sets();
      if (!is_union) right = add({.kind = Clause::Kind::none_of, .at = at, .parts = {right}});
      left = add({.kind = is_union ? Clause::Kind::any_of : Clause::Kind::all_of,
                  .at = at,
                  .parts = {left, right}});
    }
    return left;
  }

  uint32_t common_of_sets() {
    const uint32_t at = token().at;
    std::vector<uint32_t> parts{condition()};
    while (take("&")) parts.push_back(condition());
    return joined(Clause::Kind::all_of, at, std::move(parts));
  }

  uint32_t in_brackets() {
    if (++depth_ > deepest)
      fail_at(expression_, token().at, "the brackets are nested more than 100 deep");
    const uint32_t node = any_of();
    if (!take(")")) expected("')'");
    --depth_;
    return node;
  }

  uint32_t condition() {
    if (take("(")) return in_brackets();
    const SelectToken word = token();
    if (word.kind != SelectToken::Kind::word) expected("a property, a selection, 'not' or '('");
    if (word.is("live")) return live();
    if (word.is("stack")) return stack_in(Clause::Kind::stack_in);
    if (word.is("free.stack")) return stack_in(Clause::Kind::free_stack_in);
    if (const std::optional<uint32_t> name = named(word.text)) {
      ++at_;
      return add({.kind = Clause::Kind::selection, .at = word.at, .selection = *name});
    }
    const std::optional<Property> property = property_named(word.text);
    if (!property) unknown(word);
    ++at_;
    return comparison_of(*property, word.at);
  }

  [[noreturn]] void unknown(const SelectToken& word) const {
    if (std::find(reserved.begin(), reserved.end(), word.text) != reserved.end())
      expected("a property, a selection, 'not' or '('");
    std::vector<std::string_view> names = property_names();
    for (const NamedSelection& selection : query_.named) names.push_back(selection.name);
    const std::string_view meant = nearest_name(word.text, names);
    fail_at(expression_, word.at,
            "there is no property or selection '" + std::string(word.text.substr(0, 40)) + "'" +
                (meant.empty() ? "" : "; did you mean '" + std::string(meant) + "'?"));
  }

  std::optional<uint32_t> named(std::string_view name) const {
    for (size_t i = 0; i < query_.named.size(); ++i)
      if (query_.named[i].name == name) return static_cast<uint32_t>(i);
    return std::nullopt;
  }

  uint32_t live() {
    Clause node{.kind = Clause::Kind::live_at, .at = token().at};
    ++at_;
    if (take("at")) {
      node.value = value(ValueKind::time);
    } else if (take("in")) {
      node.kind = Clause::Kind::live_in;
      range(node, ValueKind::time);
    } else {
      expected("'at' or 'in' after 'live'");
    }
    return add(std::move(node));
  }

  uint32_t stack_in(Clause::Kind kind) {
    const SelectToken word = token();
    ++at_;
    if (!take("in")) expected("'in' after '" + std::string(word.text) + "'");
    uint32_t part = 0;
    if (take("(")) {
      part = in_brackets();
    } else {
      const std::optional<uint32_t> name = named(token().text);
      if (!name) expected("the name of a selection (--let NAME=...) or '('");
      part = add({.kind = Clause::Kind::selection, .at = token().at, .selection = *name});
      ++at_;
    }
    return add({.kind = kind, .at = word.at, .parts = {part}});
  }

  uint32_t comparison_of(Property property, uint32_t at) {
    const PropertyInfo& info = info_of(property);
    Clause node{.at = at, .property = property};
    if (info.kind == ValueKind::flag) return add(std::move(node));
    node.comparison = has_name(info.kind) ? sign(info, name_signs) : sign(info, order_signs);
    if (node.comparison == Comparison::within)
      range(node, info.kind);
    else
      node.value = value(info.kind);
    if (is_pattern(node.comparison)) {
      --at_;
      if (!node.value.is_text) expected("a regular expression in quotes");
      require_pattern(expression_, token().at, node.value.text);
      ++at_;
    }
    return add(std::move(node));
  }

  Comparison sign(const PropertyInfo& info, std::span<const ComparisonSign> signs) {
    std::string known;
    for (const ComparisonSign& sign : signs) {
      if (take(sign.text)) return sign.comparison;
      known += (known.empty() ? "" : " ") + std::string(sign.text);
    }
    expected("a comparison after '" + std::string(info.name) + "' (" + known + ")");
  }

  // With `open`, sides that are left out are those of the run.
  void range(Clause& node, ValueKind kind, bool open = false) {
    if (open && token().is(".."))
      node.value.time = {{.from = TimeTerm::From::start}};
    else
      node.value = value(kind);
    if (!take("..")) expected("'..' and the end of the range");
    if (open && token().kind == SelectToken::Kind::end)
      node.until.time = {{.from = TimeTerm::From::end}};
    else
      node.until = value(kind);
  }

  Operand value(ValueKind kind) {
    if (kind == ValueKind::time) return time();
    Operand made;
    if (has_name(kind) && token().kind == SelectToken::Kind::string) {
      made.text = token().value;
      made.is_text = true;
      ++at_;
      return made;
    }
    const bool is_number = token().kind == SelectToken::Kind::number && kind != ValueKind::text;
    if (!is_number || !number(kind, made)) expected(words_for(kind));
    ++at_;
    return made;
  }

  bool number(ValueKind kind, Operand& made) const {
    if (kind == ValueKind::share) {
      const std::optional<ExactFraction> share = parse_share(token().text);
      made.share = share.value_or(ExactFraction{});
      return share.has_value();
    }
    const std::optional<uint64_t> number =
        kind == ValueKind::bytes ? byte_count(token().text) : parse_count(token().text);
    made.number = number.value_or(0);
    return number.has_value();
  }

  static bool begins_time(const SelectToken& token) {
    return token.kind == SelectToken::Kind::number || token.kind == SelectToken::Kind::string ||
           token.is("start") || token.is("end") || token.is("peak");
  }

  Operand time() {
    Operand made;
    bool minus = false;
    while (true) {
      made.time.push_back(time_term(minus));
      if (!(token().is("+") || token().is("-")) || !begins_time(following())) return made;
      minus = token().is("-");
      ++at_;
    }
  }

  TimeTerm time_term(bool minus) {
    using From = TimeTerm::From;
    TimeTerm term{.minus = minus, .at = token().at};
    if (token().kind == SelectToken::Kind::string) {
      term.from = From::mark;
      term.mark = token().value;
    } else if (token().kind == SelectToken::Kind::number) {
      const std::optional<ExactFraction> share = parse_percentage(token().text);
      const std::optional<uint64_t> ns = parse_nanoseconds(token().text);
      if (!share && !ns) expected(words_for(ValueKind::time));
      term.from = share ? From::share_of_run : From::length;
      term.share = share.value_or(ExactFraction{});
      term.ns = ns.value_or(0);
    } else if (begins_time(token())) {
      term.from = token().is("start") ? From::start : token().is("end") ? From::end : From::peak;
    } else {
      expected(words_for(ValueKind::time));
    }
    ++at_;
    return term;
  }

  const Query& query_;
  Expression expression_;
  std::vector<SelectToken> tokens_;  // they point into the expression
  size_t at_ = 0, depth_ = 0;
};

bool is_set_name(std::string_view name) {
  const auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && !(name.front() >= '0' && name.front() <= '9') &&
         std::all_of(name.begin(), name.end(), is_part);
}

// An expression that has one comparison, with a text that needs no quotes.
Expression of_text(std::string option, Property property, Comparison comparison, std::string text) {
  Expression expression{.label = std::move(option), .text = text};
  Clause node{.property = property, .comparison = comparison};
  if (is_pattern(comparison)) require_pattern(expression, 0, text);
  const std::optional<uint64_t> id = parse_count(text);
  if (info_of(property).kind == ValueKind::owner && id && !is_pattern(comparison)) {
    node.value.number = *id;
  } else {
    node.value.text = std::move(text);
    node.value.is_text = true;
  }
  expression.nodes.push_back(std::move(node));
  return expression;
}

}  // namespace

void add_where(Query& query, std::string label, std::string text) {
  query.where.push_back(
      Parser(query, {.label = std::move(label), .text = std::move(text)}).whole());
}

void add_let(Query& query, const std::string& label, const std::string& text) {
  const auto refuse = [&](const std::string& why) {
    throw Error(label + " " + text + ": " + why, ExitCode::usage);
  };
  const size_t equals = text.find('=');
  if (equals == std::string::npos) refuse("expected NAME=EXPR, like big=size >= 1M");
  std::string name = text.substr(0, equals);
  name.erase(0, std::min(name.find_first_not_of(' '), name.size()));
  name.erase(name.find_last_not_of(' ') + 1);
  const std::vector<std::string_view> properties = property_names();
  if (!is_set_name(name)) refuse("a name has letters, digits and '_', and begins with a letter");
  if (std::find(properties.begin(), properties.end(), name) != properties.end() ||
      std::find(reserved.begin(), reserved.end(), name) != reserved.end())
    refuse("'" + name + "' has a meaning already");
  if (std::any_of(query.named.begin(), query.named.end(),
                  [&](const NamedSelection& other) { return other.name == name; }))
    refuse("there are two selections of that name");
  if (query.named.size() == most_named) refuse("there are more than 100 selections");
  Expression expression =
      Parser(query, {.label = label + " " + name, .text = text.substr(equals + 1)}).whole();
  query.named.push_back({std::move(name), std::move(expression)});
}

void add_comparison(Query& query, std::string option, Property property, Comparison comparison,
                    std::string text) {
  Expression expression{.label = std::move(option), .text = std::move(text)};
  query.where.push_back(
      has_name(info_of(property).kind)
          ? of_text(std::move(expression.label), property, comparison, std::move(expression.text))
          : Parser(query, std::move(expression)).comparison(property, comparison));
}

void add_flag(Query& query, std::string option, Property flag, bool is) {
  Expression expression{.label = std::move(option), .text = {}};
  expression.nodes.push_back({.property = flag});
  if (!is) {
    expression.nodes.push_back({.kind = Clause::Kind::none_of, .parts = {0}});
    expression.root = 1;
  }
  query.where.push_back(std::move(expression));
}

void add_live_at(Query& query, std::string option, std::string text) {
  query.where.push_back(
      Parser(query, {.label = std::move(option), .text = std::move(text)}).live_at());
}

}  // namespace memflame
