"""Whole passes as machine code for the processor at hand, written in Python and made by Numba (https://numba.pydata.org).

Nothing here knows torch, and whoever runs a pass knows nothing of this but `passes.py` and what `records.py` asks for:
`python -m models.kernels` makes the code once and keeps it on disk, from where `models/compiled` takes it.
"""
