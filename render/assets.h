// What every picture carries, as bytes of the program: flame.css and flame*.js.
#pragma once

#include "palettes/palettes.h"

namespace memflame {

std::span<const EmbeddedFile> embedded_assets();

}  // namespace memflame
