"""This service beside the reference, in one run on one machine: ``make bench``."""
