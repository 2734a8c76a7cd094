"""Training: the fine-tuned models that the papers test. See `unwaver train --help` and docs/train.md."""
