"""Plain functions of texts: what is written, how far two texts are alike, what a terminal may be shown."""
