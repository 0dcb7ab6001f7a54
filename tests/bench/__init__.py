"""The field's experiments and Toolcrib's own costs, rerun: `python -m tests.bench EXPERIMENT`.

Not packaged. Typed, linted and tested as the product is; its own tests are in `tests`.
"""
