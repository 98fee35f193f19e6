"""Apply the actions of a repair plan, and undo them: one action is one transaction."""
