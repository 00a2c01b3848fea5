"""``python -m dynid`` is the command line."""

try:
    from dynid.cli import main

    code = main()
except KeyboardInterrupt:
    # While the command line itself was still loading; later, it says so itself.
    code = 130
raise SystemExit(code)
