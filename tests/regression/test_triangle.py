"""The triangular factor of tall matrices."""

import numpy as np
import pytest

from dynid.regression.triangle import SLAB, triangular


@pytest.mark.parametrize("shape", [(2, 5), (5, 5), (40, 1), (40, 17), (SLAB, 47), (SLAB + 1, 47), (3 * SLAB + 5, 33)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_factor_is_that_of_the_whole_matrix_up_to_signs(shape, order, rng):
    rows = np.asarray(rng.normal(size=shape), order=order)
    R = triangular(rows)
    expected = np.asarray(np.linalg.qr(rows, mode="r"), dtype=float)
    assert R.flags.c_contiguous
    np.testing.assert_array_equal(R, np.triu(R))
    # Householder reflections are backward stable: some roundings of the largest singular value.
    np.testing.assert_allclose(np.abs(R), np.abs(expected), atol=float(1e-13 * np.linalg.norm(rows)))


def test_a_last_column_counts_like_any_other(rng):
    rows, last = rng.normal(size=(2000, 12)), rng.normal(size=2000)
    np.testing.assert_array_equal(triangular(rows, last), triangular(np.column_stack([rows, last])))
    np.testing.assert_array_equal(triangular(rows[:1], last[:1]), [[*rows[0], last[0]]])


def test_no_digits_are_lost_where_normal_equations_would_lose_them(rng):
    # Two columns that differ by 1e-10: their Gram matrix is singular to working precision.
    first, apart = rng.normal(size=(2, 4000))
    R = triangular(np.column_stack([first, first + 1e-10 * apart]))
    orthogonal = apart - first * (first @ apart) / (first @ first)
    np.testing.assert_allclose(abs(R[1, 1]), 1e-10 * np.linalg.norm(orthogonal), rtol=1e-4)


def test_nothing_and_one_row_stay_as_they_are():
    assert triangular(np.empty((0, 4))).shape == (0, 4)
    assert triangular(np.empty((5, 0))).shape == (5, 0)
    np.testing.assert_array_equal(triangular(np.array([[1.0, 2.0]])), [[1.0, 2.0]])
