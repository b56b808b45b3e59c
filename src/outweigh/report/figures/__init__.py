"""What of a comparison is drawn, and in which words.

How it is drawn is decided in `report/svg`; charts made of characters are in `text_charts`.
"""
