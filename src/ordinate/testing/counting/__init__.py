"""Checks of functions that count positions: packed, padded, on grids, with images, on several ranks."""

from ordinate.testing.counting.context_parallel import check_context_parallel as check_context_parallel
from ordinate.testing.counting.grids import check_grid as check_grid
from ordinate.testing.counting.masked import check_masked as check_masked
from ordinate.testing.counting.multimodal import check_frame_times as check_frame_times
from ordinate.testing.counting.multimodal import check_multimodal as check_multimodal
from ordinate.testing.counting.packed import check_packed as check_packed
from ordinate.testing.counting.resized import check_resize as check_resize
