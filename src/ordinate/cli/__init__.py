"""The ``ordinate`` command: one file a subcommand, two functions each, ``add_parser`` and ``run``."""
