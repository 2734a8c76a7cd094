"""A study: models trained and evaluated by a plan, and what they say when compared. See docs/train.md."""
