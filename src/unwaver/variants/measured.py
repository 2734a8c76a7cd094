"""How often the builders that write English are wrong, as read one by one: docs/variants.md has the counts.

Each number is the upper end of the exact 95 % interval of the share of wrong outputs. Scores on these variants
carry bounds that follow from it.
"""

RULES = 0.0504  # 4 of 200
NEGATE = 0.0700  # 9 of 240
ANTONYM = 0.0881  # 7 of 160
