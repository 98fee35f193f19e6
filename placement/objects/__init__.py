"""The use cases: one function is one command or one query, and one transaction.

Commands hand their work to ``store.write``, which runs it again from the start
when the database refuses it for a conflict; queries read in ``store.read``.
"""
