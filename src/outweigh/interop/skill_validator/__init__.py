"""skill-validator: scenarios of a skill, and Vally's stimuli, as a suite."""
