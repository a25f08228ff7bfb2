"""The commands of `pw`, one a file."""
