"""``ordinate doctor``: findings about positions in configurations, checkpoints and code. Nothing of a file is executed."""

from __future__ import annotations

from ordinate.doctor.finding import Diagnosis as Diagnosis
from ordinate.doctor.targets import compared as compared
from ordinate.doctor.targets import look as look
