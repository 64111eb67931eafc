// SPDX-License-Identifier: BSD-2-Clause
#include "render/outputs/raster_library.h"

#include <cairo-pdf.h>
#include <dlfcn.h>
#include <fontconfig/fontconfig.h>
#include <librsvg/rsvg.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/error.h"
#include "core/units.h"

namespace memflame {
namespace {

// Functions of librsvg, and of the libraries that it loads. Their types are those of the headers.
class RasterLibrary {
 public:
  RasterLibrary() : handle_(::dlopen("librsvg-2.so.2", RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr)
      throw Error(
          "PNG and PDF need librsvg-2.so.2, which is not installed (Debian: librsvg2-2); or write "
          "an SVG");
#define FIND(name) find(name, #name)
    FIND(rsvg_handle_new_from_data);
    FIND(rsvg_handle_get_intrinsic_size_in_pixels);
    FIND(rsvg_handle_render_document);
    FIND(cairo_image_surface_create);
    FIND(cairo_pdf_surface_create_for_stream);
    FIND(cairo_create);
    FIND(cairo_destroy);
    FIND(cairo_surface_destroy);
    FIND(cairo_surface_finish);
    FIND(cairo_surface_status);
    FIND(cairo_surface_write_to_png_stream);
    FIND(cairo_status);
    FIND(cairo_status_to_string);
    FIND(g_object_unref);
    FIND(g_error_free);
    FIND(FcInit);
    FIND(FcConfigGetFonts);
#undef FIND
  }

  decltype(&::rsvg_handle_new_from_data) rsvg_handle_new_from_data = nullptr;
  decltype(&::rsvg_handle_get_intrinsic_size_in_pixels) rsvg_handle_get_intrinsic_size_in_pixels =
      nullptr;
  decltype(&::rsvg_handle_render_document) rsvg_handle_render_document = nullptr;
  decltype(&::cairo_image_surface_create) cairo_image_surface_create = nullptr;
  decltype(&::cairo_pdf_surface_create_for_stream) cairo_pdf_surface_create_for_stream = nullptr;
  decltype(&::cairo_create) cairo_create = nullptr;
  decltype(&::cairo_destroy) cairo_destroy = nullptr;
  decltype(&::cairo_surface_destroy) cairo_surface_destroy = nullptr;
  decltype(&::cairo_surface_finish) cairo_surface_finish = nullptr;
  decltype(&::cairo_surface_status) cairo_surface_status = nullptr;
  decltype(&::cairo_surface_write_to_png_stream) cairo_surface_write_to_png_stream = nullptr;
  decltype(&::cairo_status) cairo_status = nullptr;
  decltype(&::cairo_status_to_string) cairo_status_to_string = nullptr;
  decltype(&::g_object_unref) g_object_unref = nullptr;
  decltype(&::g_error_free) g_error_free = nullptr;
  decltype(&::FcInit) FcInit = nullptr;
  decltype(&::FcConfigGetFonts) FcConfigGetFonts = nullptr;

  void check(cairo_status_t status) const {
    if (status != CAIRO_STATUS_SUCCESS)
      throw Error(std::string("the picture cannot be drawn: ") + cairo_status_to_string(status));
  }

 private:
  template <class Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(handle_, name));
    if (function == nullptr)
      throw Error(std::string("PNG and PDF need librsvg 2.52 or newer; this one has no ") + name +
                  "(): write an SVG");
  }

  void* handle_;  // never unloaded: GLib cannot be
};

// Without any font, names would be rows of empty squares.
void require_font(const RasterLibrary& library) {
  const FcFontSet* fonts =
      library.FcInit() != FcFalse ? library.FcConfigGetFonts(nullptr, FcSetSystem) : nullptr;
  if (fonts == nullptr || fonts->nfont == 0)
    throw Error(
        "PNG and PDF need a font, and none is installed (Debian: fonts-dejavu-core); or write an "
        "SVG");
}

[[noreturn]] void fail(const RasterLibrary& library, const std::string& what, GError* error) {
  const std::string why = error != nullptr ? error->message : "no reason given";
  if (error != nullptr) library.g_error_free(error);
  throw Error(what + ": " + why);
}

cairo_status_t write_piece(void* closure, const unsigned char* bytes, unsigned size) {
  const auto& write = *static_cast<const std::function<bool(std::string_view)>*>(closure);
  return write({reinterpret_cast<const char*>(bytes), size}) ? CAIRO_STATUS_SUCCESS
                                                             : CAIRO_STATUS_WRITE_ERROR;
}

}  // namespace

RasterSize raster_size(RasterForm form, double width, double height) {
  constexpr double points_of_px = 0.75;
  constexpr double page_side = 14400;  // points: the largest page that readers of PDF have to show
  if (form == RasterForm::pdf) {
    const double scale = std::min({points_of_px, page_side / width, page_side / height});
    return {width * scale, height * scale};
  }
  constexpr double sharp = 2, least = 0.5;
  constexpr double side = 32767;       // px, cairo's limit
  constexpr double pixels = 1U << 26;  // 256 MiB of memory
  const double scale =
      std::min({sharp, side / width, side / height, std::sqrt(pixels / width / height)});
  if (scale < least)
    throw Error("a picture of " + with_commas(std::llround(width)) + " × " +
                with_commas(std::llround(height)) +
                " px is too large for a PNG: merge narrow frames (--minwidth 1%), fold recursion "
                "(--collapse-recursion), choose a smaller --width, or write a PDF or an SVG");
  return {std::floor(width * scale), std::floor(height * scale)};
}

void draw_raster(RasterForm form, std::string_view svg,
                 const std::function<bool(std::string_view)>& write) {
  const RasterLibrary library;
  require_font(library);
  GError* error = nullptr;
  const std::unique_ptr<RsvgHandle, decltype(library.g_object_unref)> picture(
      library.rsvg_handle_new_from_data(reinterpret_cast<const guint8*>(svg.data()), svg.size(),
                                        &error),
      library.g_object_unref);
  if (picture == nullptr)
    fail(library, "librsvg does not read the picture (fewer boxes may help: --max-boxes)", error);
  double width = 0, height = 0;
  if (library.rsvg_handle_get_intrinsic_size_in_pixels(picture.get(), &width, &height) == FALSE)
    throw Error("librsvg does not know the size of the picture");
  const RasterSize size = raster_size(form, width, height);
  void* const closure = const_cast<std::function<bool(std::string_view)>*>(&write);
  const std::unique_ptr<cairo_surface_t, decltype(library.cairo_surface_destroy)> surface(
      form == RasterForm::pdf
          ? library.cairo_pdf_surface_create_for_stream(write_piece, closure, size.width,
                                                        size.height)
          : library.cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(size.width),
                                               static_cast<int>(size.height)),
      library.cairo_surface_destroy);
  library.check(library.cairo_surface_status(surface.get()));
  {
    const std::unique_ptr<cairo_t, decltype(library.cairo_destroy)> pen(
        library.cairo_create(surface.get()), library.cairo_destroy);
    const RsvgRectangle whole{0, 0, size.width, size.height};
    if (library.rsvg_handle_render_document(picture.get(), pen.get(), &whole, &error) == FALSE)
      fail(library, "librsvg does not draw the picture", error);
    library.check(library.cairo_status(pen.get()));
  }
  if (form == RasterForm::png)
    library.check(library.cairo_surface_write_to_png_stream(surface.get(), write_piece, closure));
  library.cairo_surface_finish(surface.get());
  library.check(library.cairo_surface_status(surface.get()));
}

}  // namespace memflame
