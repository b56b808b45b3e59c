"""Charts as SVG: pure functions of plain figures. What to show of a comparison is decided in `report/pictures`."""
