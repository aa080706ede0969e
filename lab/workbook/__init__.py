"""The workbook: learn by making it pass.

A track is a folder in ``tracks`` with one manifest (``track.toml``), one
source with solution markers, and tests. ``starters`` and ``solutions`` are
made from the source by ``python -m lab.workbook.generate``. A workspace is
a learner's own copy of a starter, outside this package.
"""
