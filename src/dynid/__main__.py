"""``python -m dynid`` is the command line."""

from dynid.cli import main

raise SystemExit(main())
