"""Speed and quality, measured: rows of work with peers side by side, and what samplers are worth a second.

Timings are of one thread on this machine, now; only ratios within one row can be trusted, for there the
contestants take turns.
"""
