"""A run from groups to scores, and the folder it leaves behind."""
