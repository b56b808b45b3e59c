"""The sections of cells, in the order of the page. A new topic adds its module's sections here."""

from calibration.cells import Section
from calibration.decision_cells import DECISION_SECTIONS

SECTIONS: tuple[Section, ...] = (*DECISION_SECTIONS,)
