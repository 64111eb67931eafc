// SPDX-License-Identifier: BSD-2-Clause
// What points out leaks, in front of the boxes: <g class="marks">. The script draws its own.
#include <algorithm>

#include "render/outputs/svg_parts.h"
#include "render/picture/caption.h"

namespace memflame {
namespace {

constexpr double stripe_height = 2.5, stripe_edge = 0.5, edge = 1, line = 2;

class Marks {
 public:
  Marks(std::string& out, const SvgPicture& picture, double top)
      : out_(out),
        picture_(picture),
        top_(top),
        scale_(picture.inner_width() / static_cast<double>(picture.layout.total)) {}

  void write(const LeakPaths& paths) {
    out_ += "<g class=\"marks\">\n";
    size_t outlined = SIZE_MAX;
    for (const LeakStripe& stripe : paths.stripes) {
      if (stripe.is_outlined && stripe.box != outlined) append_outline(stripe.box);
      outlined = stripe.box;
      if (!stripe.is_outlined) append_stripe(stripe);
    }
    for (const LeakFlag& flag : paths.flags) append_flag(flag);
    out_ += "</g>\n";
  }

 private:
  double left(int64_t offset) const {
    return SvgPicture::margin + static_cast<double>(offset) * scale_;
  }
  double width(int64_t total) const { return static_cast<double>(total) * scale_; }
  // The row that is `more` levels further from the root.
  double row(size_t box, double more = 0) const {
    const double depth = picture_.layout.boxes[box].depth + more;
    const double last = picture_.layout.depth - 1;
    return top_ + (picture_.options.icicle ? depth : last - depth) * picture_.row_height();
  }

  void append_rect(double x, double y, double wide, double high, std::string_view more) {
    out_ += "<rect";
    append_attribute(out_, "x", x);
    append_attribute(out_, "y", y);
    append_attribute(out_, "width", wide);
    append_attribute(out_, "height", high);
    (out_ += more) += "/>";
  }

  static std::string fill(Rgb colour) { return " fill=\"" + hex(colour) + "\""; }
  static std::string stroke(Rgb colour, double wide) {
    std::string text = " fill=\"none\" stroke=\"" + hex(colour) + "\"";
    append_attribute(text, "stroke-width", wide);
    return text;
  }

  void append_outline(size_t index) {
    const Box& box = picture_.layout.boxes[index];
    const double x = left(box.offset), y = row(index);
    const double wide = width(box.total), high = picture_.row_height() - 1;
    constexpr double inset = line + edge / 2;
    if (wide < 4 * inset)
      return append_rect(x, y, std::max(wide, least_stripe), high, fill(leak_colour));
    append_rect(x + line / 2, y + line / 2, wide - line, high - line, stroke(leak_colour, line));
    append_rect(x + inset, y + inset, wide - 2 * inset, high - 2 * inset, stroke(leak_edge, edge));
  }

  void append_stripe(const LeakStripe& stripe) {
    const double wide = std::max(width(stripe.total), least_stripe);
    const double x = std::min(left(stripe.offset), left(picture_.layout.total) - wide);
    const double y = row(stripe.box) + picture_.row_height() - 1 - stripe_height;
    append_rect(x, y - stripe_edge, wide, stripe_height + stripe_edge, fill(leak_edge));
    append_rect(x, y, wide, stripe_height, fill(leak_colour));
  }

  // Outwards from the leaf's box, in the row that is next.
  void append_flag(const LeakFlag& flag) {
    const StackMark& mark = picture_.profile.marks[flag.mark];
    const double font = picture_.options.font_size - 1;
    const std::string text = flag_text(mark);
    const double wide = text_width(text, font) + 12, high = picture_.row_height() - 2;
    const double x = left(flag.offset), y = row(flag.box, 1);
    const double flag_x =
        std::max(std::min(x, left(picture_.layout.total) - wide), SvgPicture::margin);
    out_ += "<g><title>";
    uint64_t replaced = 0;
    append_xml(out_, clean_text(mark.label + "\n" + mark.sentence, replaced));
    out_ += "</title>";
    append_rect(std::min(x, left(picture_.layout.total) - least_stripe), std::min(y, row(flag.box)),
                least_stripe, 2 * picture_.row_height() - 1, fill(leak_colour));
    append_rect(flag_x, y, wide, high,
                " rx=\"3\"" + fill(leak_colour) + " stroke=\"" + hex(leak_edge) + "\"");
    append_text(out_, "flag", flag_x + 6, y + font + (high - font) / 2 - 2, text);
    out_ += "</g>\n";
  }

  std::string& out_;
  const SvgPicture& picture_;
  const double top_, scale_;
};

}  // namespace

void append_svg_marks(std::string& out, const SvgPicture& picture, const LeakPaths& paths,
                      double top) {
  if (!paths.flags.empty()) Marks(out, picture, top).write(paths);
}

}  // namespace memflame
