"""Figures and declarations of the larger families of metrics: what their numbers mean and how they are drawn."""
