"""What a team commits: unwaver.toml, groups that are made once, and a lock with the values that it accepted."""
