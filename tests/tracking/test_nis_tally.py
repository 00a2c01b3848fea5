"""What a run says of itself: the NIS of samples that count, and changes that come faster than any arm takes them."""

import numpy as np
import pytest

from dynid.tracking.hasty_changes import HASTY_EVENTS, SETTLED, HastyChanges
from dynid.tracking.nis_tally import KEPT, NisTally


def test_mean_and_share_are_those_of_the_samples_that_count(rng):
    tally, nis = NisTally((1.0, 3.0)), rng.uniform(0.0, 5.0, 3 * KEPT)
    assert np.isnan(tally.mean)
    for k, value in enumerate(nis):
        tally.add(float(k), float(value))
    assert tally.mean == pytest.approx(nis.mean())
    assert tally.share == pytest.approx(np.mean((nis >= 1.0) & (nis <= 3.0)))
    tally.take_back(len(nis) - 100.0)
    tally.take_back(len(nis) - 100.0)  # they do not count twice
    assert tally.n == len(nis) - 100
    assert tally.mean == pytest.approx(nis[:-100].mean())
    assert tally.share == pytest.approx(np.mean((nis[:-100] >= 1.0) & (nis[:-100] <= 3.0)))
    tally.add(float(len(nis)), 2.0)
    assert tally.n == len(nis) - 99


def test_what_is_longer_ago_than_any_decision_stays():
    tally = NisTally((1.0, 3.0))
    for k in range(2 * KEPT):
        tally.add(float(k), 2.0)
    tally.take_back(0.0)
    assert tally.n == KEPT
    assert tally.mean == pytest.approx(2.0)


@pytest.mark.parametrize(("every", "said"), [(0.5 * SETTLED, True), (1.5 * SETTLED, False)])
def test_changes_that_keep_following_one_another_are_one_sentence(every, said):
    changes = HastyChanges()
    for k in range(HASTY_EVENTS + 1):
        assert changes.sentences == ()
        changes.hear(k * every)
    assert len(changes.sentences) == int(said)
    assert all("does not fit" in sentence for sentence in changes.sentences)


def test_a_few_hasty_changes_among_many_are_no_matter():
    changes = HastyChanges()
    for k in range(50):
        changes.hear(10.0 * (k // 2) + 0.5 * (k % 2) * (k < 14))
    assert changes.sentences == ()
