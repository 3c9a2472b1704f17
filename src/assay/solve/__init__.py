"""Reason, critique, refine: solutions in steps, critics, searches. Nothing in here ever sees a gold answer."""
