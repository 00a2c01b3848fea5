"""Where samples come from: datagrams, standard input, files and bags that grow, logs replayed, any iterator."""

MODULES = ("messages", "counts", "feeds", "udp", "growing", "mcap", "growing_bags", "replayed", "intake")
"""The order of this room: a module imports only those before it."""
