"""Asking: what is put to which model, in which order, within which budget."""
