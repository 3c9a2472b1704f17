"""FinCharts: questions about financial charts that are made on the spot, with answers that are known exactly.

A question starts from a slot of the plan (`plan`: type, level, class, domain, language), gets a chart with numbers
(`charts`, `making`, `series`), something to be asked of them (`ask`) with its solution (`rationale`), and looks
(`style`); it is drawn last (`draw`). `generate` does all this for a whole benchmark and writes it to a folder.
"""
