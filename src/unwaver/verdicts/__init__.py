"""What scores mean for a decision: runs compared, bars met or missed."""
