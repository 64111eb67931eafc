<?php
// SPDX-License-Identifier: BSD-2-Clause
namespace Made;

step($rest);

if (!function_exists('Made\spaced')) {
  function spaced($rest) { \step($rest); }
}

$made = fn($x) => \step($x);

return $made($rest);
