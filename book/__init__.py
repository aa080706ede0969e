"""The manuscript and the press that prints it."""
