"""What can be read from scores, tables and paraphrases beside the scores themselves; one analysis per file."""
