"""The sections of cells, in the order of the page. A new topic adds its module's sections here."""

from calibration.age_cells import AGE_SECTIONS
from calibration.cells import Section
from calibration.chance_cells import CHANCE_SECTIONS
from calibration.chosen_cells import CHOSEN_SECTIONS
from calibration.collapse_cells import COLLAPSE_SECTIONS
from calibration.culprit_cells import CULPRIT_SECTIONS
from calibration.decision_cells import DECISION_SECTIONS
from calibration.inherit_cells import INHERIT_SECTIONS
from calibration.judge_cells import JUDGE_SECTIONS
from calibration.ladder_cells import LADDER_SECTIONS
from calibration.ledger_cells import LEDGER_SECTIONS
from calibration.look_cells import LOOK_SECTIONS
from calibration.missing_cells import MISSING_SECTIONS
from calibration.part_cells import PART_SECTIONS
from calibration.pin_cells import PIN_SECTIONS
from calibration.plan_cells import PLAN_SECTIONS
from calibration.repeat_cells import REPEAT_SECTIONS
from calibration.rival_cells import RIVAL_SECTIONS
from calibration.single_gate_cells import SINGLE_GATE_SECTIONS
from calibration.version_cells import VERSION_SECTIONS

SECTIONS: tuple[Section, ...] = (
    *DECISION_SECTIONS,
    *SINGLE_GATE_SECTIONS,
    *COLLAPSE_SECTIONS,
    *CHANCE_SECTIONS,
    *LOOK_SECTIONS,
    *REPEAT_SECTIONS,
    *CHOSEN_SECTIONS,
    *INHERIT_SECTIONS,
    *PART_SECTIONS,
    *MISSING_SECTIONS,
    *AGE_SECTIONS,
    *RIVAL_SECTIONS,
    *PIN_SECTIONS,
    *VERSION_SECTIONS,
    *LEDGER_SECTIONS,
    *JUDGE_SECTIONS,
    *PLAN_SECTIONS,
    *LADDER_SECTIONS,
    *CULPRIT_SECTIONS,
)
