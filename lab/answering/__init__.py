"""From checked evidence toward an answer: one idea in each module.

Nothing here decides who may read what. Evidence arrives already checked,
and every text made from it is re-checked before it is shown.
"""
