"""Core: groups made from tables of facts and hand-written wordings, so that each relation holds by construction.

    tables/*.toml -> Table -> facts: what can be asked -> kinds_*: groups -> suite: core and core-mini

docs/core.md describes the schema of a table, the kinds and why each relation holds.
"""
