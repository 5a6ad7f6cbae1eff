"""Whole passes as machine code for the processor at hand, written in Python and made by Numba (https://numba.pydata.org).

Nothing here knows torch. `python -m models.kernels` makes the code once and keeps it on disk, from where
`models/compiled` takes it, which knows only what the `layout` modules say of arrays, and where code is kept.
"""
