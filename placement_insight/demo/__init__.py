"""A cloud to try the service on: ``placement-api --development --demo``."""
