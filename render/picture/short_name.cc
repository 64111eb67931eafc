// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/short_name.h"

#include <algorithm>
#include <array>

#include "render/text/clean_text.h"

namespace memflame {
namespace {

constexpr std::string_view dots = "…", before_class = "…::", anonymous = "(anonymous namespace)";

// What looks like a bracket but belongs to the name: "(anonymous namespace)", "operator()",
// "operator<", "operator->". Its length; 0 if there is none.
size_t kept_length(std::string_view text) {
  constexpr std::string_view keyword = "operator";
  if (text.starts_with(anonymous)) return anonymous.size();
  if (!text.starts_with(keyword)) return 0;
  size_t end = keyword.size();
  while (end < text.size() && text[end] == ' ') ++end;
  constexpr std::array<std::string_view, 11> symbols{"()",  "->*", "->", "<=>", "<<=", "<<",
                                                     ">>=", ">>",  "<=", ">=",  "<"};
  for (const std::string_view symbol : symbols)
    if (text.substr(end).starts_with(symbol)) return end + symbol.size();
  return text.substr(end).starts_with('>') ? end + 1 : 0;
}

// With outermost pairs of brackets replaced; as it was if one has no partner.
std::string without_brackets(std::string_view name, char open, char close,
                             std::string_view instead) {
  std::string out;
  size_t depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    const size_t kept = depth == 0 ? kept_length(name.substr(i)) : 0;
    if (kept != 0) {
      out += name.substr(i, kept);
      i += kept - 1;
    } else if (name[i] == open) {
      if (depth++ == 0) out += instead;
    } else if (name[i] == close && depth > 0) {
      --depth;
    } else if (depth == 0) {
      out += name[i];
    }
  }
  return depth == 0 ? out : std::string(name);
}

// The parts between "::"; an operator, which may have any letters, is the last.
std::vector<std::string_view> parts_of(std::string_view name) {
  std::vector<std::string_view> parts;
  const size_t last = name.find("::operator");
  std::string_view rest = name.substr(0, last);
  for (size_t at = rest.find("::"); at != std::string_view::npos; at = rest.find("::")) {
    parts.push_back(rest.substr(0, at));
    rest.remove_prefix(at + 2);
  }
  parts.push_back(rest);
  if (last != std::string_view::npos) parts.push_back(name.substr(last + 2));
  return parts;
}

// Whether brackets are left around "::", so that it may lie within one that has no partner.
bool has_open_bracket(const std::vector<std::string_view>& parts) {
  for (size_t i = 0; i + 1 < parts.size(); ++i)
    for (std::string_view part = parts[i]; !part.empty();) {
      size_t skip = 1;
      for (const std::string_view whole :
           {anonymous, std::string_view("<…>"), std::string_view("()")})
        if (part.starts_with(whole)) skip = whole.size();
      if (skip == 1 && std::string_view("()<>").find(part[0]) != std::string_view::npos)
        return true;
      part.remove_prefix(skip);
    }
  return false;
}

// Without " (app.py:41)" at its end, which is not a function's arguments.
std::string_view without_place(std::string_view name) {
  const size_t open = name.rfind(" (");
  if (open == std::string_view::npos || open == 0 || !name.ends_with(')')) return name;
  const std::string_view place = name.substr(open + 2, name.size() - open - 3);
  const size_t line = place.rfind(':') + 1;  // 0 = there is none
  const bool is_place = line != 0 && line < place.size() &&
                        place.find_first_of("()") == std::string_view::npos &&
                        place.find_first_not_of("0123456789", line) == std::string_view::npos;
  return is_place ? name.substr(0, open) : name;
}

// "…/tsdb.(*memSeries).append", "…(*memSeries).append" and "…append" of a method of Go; none of
// other names.
std::vector<std::string> shorter_go_names(std::string_view name) {
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_~%-").find(c) != std::string_view::npos;
  };
  const auto skip = [&](size_t from, bool dots_too) {
    while (from < name.size() && (is_word(name[from]) || (dots_too && name[from] == '.'))) ++from;
    return from;
  };
  const auto is = [&](size_t at, char c) { return at < name.size() && name[at] == c; };
  size_t package = 0;
  for (size_t end = skip(0, true); end > package && is(end, '/'); end = skip(package, true))
    package = end + 1;
  const size_t dot = skip(package, false);
  if (dot == package || !is(dot, '.')) return {};
  size_t receiver = dot + 1, function = receiver;
  if (is(receiver, '(')) {
    const size_t close = name.find_first_of("()", receiver + 1);
    if (close == std::string_view::npos || name[close] != ')' || !is(close + 1, '.')) return {};
    function = close + 2;
  }
  if (package == 0 && function == receiver) return {};
  if (name.find_first_of("():<> /", function) != std::string_view::npos) return {};
  std::vector<std::string> forms;
  if (package != 0) forms.push_back(std::string(dots).append("/").append(name.substr(package)));
  forms.push_back(std::string(dots).append(name.substr(receiver)));
  if (function != receiver) forms.push_back(std::string(dots).append(name.substr(function)));
  return forms;
}

class Shortener {
 public:
  Shortener(double room, const LetterWidth& width_of, Elide side)
      : room_(room), width_of_(width_of), side_(side) {}

  std::string run(std::string_view name) const {
    if (fits(name)) return std::string(name);
    if (room_ < 3 * width_of_("0")) return "";
    const std::vector<std::string> forms = shorter_names(name);
    for (size_t i = 0; i < forms.size(); ++i) {
      if (!fits(forms[i])) continue;
      std::string longer;
      if (i + 1 == forms.size())
        longer = with_part_of_class(i == 0 ? name : std::string_view(forms[i - 1]), forms[i]);
      return longer.empty() ? forms[i] : longer;
    }
    return cut(forms.empty() ? name : std::string_view(forms.back()));
  }

 private:
  static std::vector<std::string_view> letters_of(std::string_view text) {
    std::vector<std::string_view> letters;
    for (; !text.empty(); text.remove_prefix(letters.back().size()))
      letters.push_back(text.substr(0, letter_size(text)));
    return letters;
  }

  double width(std::string_view text) const {
    double sum = 0;
    for (; !text.empty() && sum <= room_ + slack;) {
      const size_t size = letter_size(text);
      sum += width_of_(text.substr(0, size));
      text.remove_prefix(size);
    }
    return sum;
  }

  bool fits(std::string_view text) const { return width(text) <= room_ + slack; }

  // "QWidgetPri…::setVisible()" of "QWidgetPrivate::setVisible()" and "…::setVisible()". "" if not
  // even two letters of the class fit.
  std::string with_part_of_class(std::string_view longer, std::string_view brief) const {
    if (!brief.starts_with(before_class)) return "";
    const std::string_view function = brief.substr(dots.size());
    if (!longer.ends_with(function)) return "";
    longer.remove_suffix(function.size());
    if (longer.starts_with(before_class)) longer.remove_prefix(before_class.size());
    const std::vector<std::string_view> letters = letters_of(longer);
    if (letters.empty()) return "";
    size_t size = longer.size();
    for (size_t count = letters.size() - 1; count >= 2; --count) {
      size -= letters[count].size();
      if (count > most_letters()) continue;
      std::string_view part = longer.substr(0, size);
      if (part.ends_with("<…")) part.remove_suffix(dots.size());
      if (part.ends_with('<')) part.remove_suffix(1);
      std::string text = std::string(part).append(brief);
      if (fits(text)) return text;
    }
    return "";
  }

  // More letters than that never fit.
  size_t most_letters() const {
    return static_cast<size_t>(room_ / std::max(0.1, narrowest * width_of_("0")));
  }

  std::string cut(std::string_view name) const {
    const std::vector<std::string_view> letters = letters_of(name);
    const bool is_plain = letters.size() == name.size();
    size_t count = std::min(letters.size(), most_letters() + 1);
    for (; count >= (is_plain ? 3U : 2U); --count) {
      std::string text = joined(letters, count - 1);
      if (fits(text)) return text;
    }
    return "";
  }

  // The given number of letters, and the mark for those that are missing.
  std::string joined(const std::vector<std::string_view>& letters, size_t count) const {
    const size_t tail = side_ == Elide::left ? count : side_ == Elide::middle ? count / 2 : 0;
    std::string text;
    for (size_t i = 0; i < count - tail; ++i) text += letters[i];
    text += dots;
    for (size_t i = letters.size() - tail; i < letters.size(); ++i) text += letters[i];
    return text;
  }

  static constexpr double slack = 1e-9;     // sums of widths are rounded
  static constexpr double narrowest = 0.5;  // letter, in widths of a digit

  double room_;
  const LetterWidth& width_of_;
  Elide side_;
};

}  // namespace

std::vector<std::string> shorter_names(std::string_view name) {
  if (const std::string_view function = without_place(name); function != name) {
    std::vector<std::string> forms{std::string(function)};
    // "<module>" and "f.<locals>.g" of Python are not templates, whose functions have arguments.
    if (function.find('(') == std::string_view::npos &&
        function.find('<') != std::string_view::npos)
      return forms;
    for (std::string& form : shorter_names(function)) forms.push_back(std::move(form));
    return forms;
  }
  std::vector<std::string> forms = shorter_go_names(name);
  if (!forms.empty()) return forms;
  // "(+37 frames, 2.1 MiB)" and "(no name)" are not functions with arguments.
  if (name.find_first_of("(<:") == std::string_view::npos ||
      (name.starts_with('(') && !name.starts_with(anonymous)))
    return forms;
  const auto add = [&](std::string form) {
    if (!form.empty() && form != name && (forms.empty() || form != forms.back()))
      forms.push_back(std::move(form));
  };
  const std::string plain = without_brackets(name, '(', ')', "()");
  add(plain);
  const std::string bare = without_brackets(plain, '<', '>', "<…>");
  add(bare);
  const std::vector<std::string_view> parts = parts_of(bare);
  if (parts.size() < 2 || has_open_bracket(parts)) return forms;
  const auto with_mark = [](std::string_view text) {
    return std::string(before_class).append(text);
  };
  if (parts.size() > 2)
    add(with_mark(std::string(parts[parts.size() - 2]) + "::" + std::string(parts.back())));
  add(with_mark(parts.back()));
  return forms;
}

std::string short_name(std::string_view name, double room, const LetterWidth& width_of,
                       Elide side) {
  return Shortener(room, width_of, side).run(name);
}

}  // namespace memflame
