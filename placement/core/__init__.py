"""What placement decides, free of HTTP, SQL, configuration, clock and logging."""
