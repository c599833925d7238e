"""Speed and memory against the limit of each operation and against peers, side by side in one process: `make bench`."""
