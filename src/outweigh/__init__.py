"""Suite → Trial → RunRecord → Judgment → Score → Delta → Comparison → Verdict → Report."""

__version__ = "0.1.0"
