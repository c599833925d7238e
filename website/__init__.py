"""Makes the pages of the site that are not written by hand: schemes, rules, claims, API, and the files that pages point to."""
