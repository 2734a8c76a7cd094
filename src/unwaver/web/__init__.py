"""Pages in a browser, served from this machine: people who rate, write and answer, and a view over runs.

Both share one small kit: `guard` (limits and headers), `sessions` (links, cookies, forms that nobody else can
send), `pages` (templates, escaped by default) and `serving` (a server on loopback). Nothing is loaded from
elsewhere.
"""
