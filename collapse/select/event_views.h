// SPDX-License-Identifier: BSD-2-Clause
// Pictures of the blocks of a run: which of the selected blocks a view shows, and the sums of their
// stacks. Blocks are known one by one, so times are exact.
#pragma once

#include "collapse/history/views.h"
#include "collapse/select/block_source.h"
#include "collapse/select/query.h"

namespace memflame {

// Views of several figures (standard, live, total, growth, survivors) have the columns of a series:
// live, live-count, total, total-count. The others have two, named as the view is: leaked,
// leaked-count. With samples each has a column of variances.
//
// A..B are the times of the range. What belongs to A counts as before it, as in the difference of
// the figures at B and at A; without A everything from the start on counts. Without B, or with a
// time behind the end, B is the end; with --at T, B is T.
//
//   live, standard  blocks that live at B; between two times, growth
//   total           allocated in A..B
//   growth          live at B, less what lived at A
//   survivors       allocated in A..B and live at B; between two times, live at the end of the run
//   leaked          allocated in A..B and never freed
//   freed           freed in A..B, whenever they were allocated; by a realloc too
//   transient       allocated in A..B and freed by the next heap call of their thread
//   churn           allocated in A..B and freed in A..B
//   peak            live at the first maximum of the whole run, before anything is selected
//
// Throws Error if the view and the times do not go together, if the query asks for what the run
// does not have (selection_of()), or if a sum does not fit in 64 bits.
ViewFigures figures_of_blocks(BlockSource& source, const HistoryRange& range, const Query& query);

}  // namespace memflame
