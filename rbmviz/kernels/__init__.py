"""The only package that imports numba.

Kernels take arrays, scalars, named tuples of arrays (``layers.PreActivation``) and records of scalars
(``records``), and draw from random streams that they are given. Entry points check that the arrays fit each
other, and raise ValueError if not; callers check the values. They are decorated with ``inner`` or ``kernel``;
a table in ``_jit`` says what each decorator means, and how kernels are compiled. ``_llvm`` says what their
smallest parts are written in: the vectors and words of bits that numba has no name for.
"""
