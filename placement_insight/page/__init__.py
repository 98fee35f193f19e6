"""The dashboard: a page over the routes below ``/insight``."""
