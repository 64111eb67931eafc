// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the BPF programs of all probes and user space share: record layouts, map values, limits.
// Plain C. What only one probe has is in its folder (config.h).
#pragma once

#include "../languages/script.h"
#include "block.h"
#include "config.h"
#include "counters.h"
#include "hash.h"
#include "process.h"
#include "record.h"
