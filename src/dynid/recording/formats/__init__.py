"""Log files, one module a format: text, arrays (NPZ, HDF5, MAT), Parquet, bags."""

MODULES = (
    "text_stream",
    "text_dialect",
    "text",
    "parquet",
    "bags",
    "named_arrays",
    "npz",
    "hdf5_storage",
    "hdf5",
    "mat_structure",
    "mat",
)
"""The order of this folder: a module imports only those before it."""

__all__: list[str] = []
