"""What operators see of the service: explanations, audit, plans, the page and the commands.

``placement`` does not import this package; it finds ``surface`` by its entry point.
"""
