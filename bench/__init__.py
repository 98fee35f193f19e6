"""Benchmark of this service and openstack-placement on one machine: ``make bench``."""
