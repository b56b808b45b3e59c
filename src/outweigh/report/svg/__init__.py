"""How charts are drawn as SVG: pure functions of plain numbers that know nothing of arms, verdicts or pages."""
