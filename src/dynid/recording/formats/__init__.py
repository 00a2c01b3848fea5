"""Log files, one module a format: text, arrays (NPZ, HDF5, MAT), Parquet, bags."""

MODULES = ("text", "matlab", "hdf5_storage", "arrays", "parquet", "bags")
"""The order of this folder: a module imports only those before it."""

__all__: list[str] = []
