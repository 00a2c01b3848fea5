"""A dask cluster of two processes on loopback, for tests: prints its address and the workers' process numbers."""

import json
import sys


def main() -> None:
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None, silence_logs=50
    ) as cluster:
        pids = [nanny.process.pid for nanny in cluster.workers.values()]
        print(json.dumps({"address": cluster.scheduler_address, "pids": pids}), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
