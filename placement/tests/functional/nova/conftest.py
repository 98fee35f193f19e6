"""``report_client.py`` runs in nova's environment, not in this one."""

collect_ignore = ["report_client.py"]
