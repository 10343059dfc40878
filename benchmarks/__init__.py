"""Benchmarks: speed of the kernels compared with other libraries, and quality of samplers per second.

Times are for one thread on this machine at this moment. Only ratios within one row can be compared, because
the contestants of a row are timed in interleaved rounds.
"""
