"""The decisions of placement: pure code without HTTP, SQL, configuration, clock or logging."""
