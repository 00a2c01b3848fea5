"""What users of version 0.1 type, read and script against, recorded from outside and compared with the present tree.

Nothing here imports the inside of dynid, so modules and Python names may move: only the command line is run.
Additions are allowed; what is lost fails. ``python -m tests.contract`` rewrites the record.
"""
