"""Benchmarks: kernels and trainings beside other libraries, quality of samplers, pages and browsers.

Times are for one thread on this machine at this moment. Only ratios within one row can be compared, because
the contestants of a row are timed in interleaved rounds.
"""
