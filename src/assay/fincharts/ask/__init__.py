"""Questions about a table of numbers: what they mean (`truth`), their words (`wording`), and how they are made."""
