"""The only room with numba: arrays and scalars in, arrays out, nothing raised, nothing drawn from globals.

Checks and allocation happen in the callers; a kernel loops. Small tuples of arrays group the
arguments that belong together (``Affine``); nothing else crosses the door.
``_jit`` says how kernels are compiled, ``_llvm`` what their smallest parts are written in: the vectors and
words of bits that numba has no name for.
"""
