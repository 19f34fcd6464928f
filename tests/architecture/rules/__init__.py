"""The house rules, each with the snippets that prove it bites."""
