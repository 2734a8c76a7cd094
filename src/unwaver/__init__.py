"""unwaver measures how consistent a language model is."""

__version__ = "0.1.0"
