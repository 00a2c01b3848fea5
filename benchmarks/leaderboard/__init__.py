"""The leaderboard: every public arm, every method of dynid and its peers: ``python -m benchmarks.leaderboard``.

Each pair of arm and method runs in a process of its own, so that its time and its memory are its own. All are judged
alike, by what they predict of motion that none of them was fitted to.
"""
