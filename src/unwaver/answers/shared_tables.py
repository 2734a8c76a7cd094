"""The tables of a store that several processes share: who works on it, who asks what, and what each has spent."""

from __future__ import annotations

WORKERS = """CREATE TABLE IF NOT EXISTS workers (
    id TEXT PRIMARY KEY, machine TEXT NOT NULL, host TEXT NOT NULL, pid INTEGER NOT NULL, started TEXT NOT NULL,
    seen REAL NOT NULL
) WITHOUT ROWID"""
CLAIMS = "CREATE TABLE IF NOT EXISTS claims (key TEXT PRIMARY KEY, worker TEXT NOT NULL) WITHOUT ROWID"
SPENDING = """CREATE TABLE IF NOT EXISTS spending (
    worker TEXT PRIMARY KEY, process TEXT NOT NULL, spent REAL NOT NULL, reserved REAL NOT NULL, at REAL NOT NULL
) WITHOUT ROWID"""
