"""``options.py`` and ``report_client.py`` run in nova's environment, not in this one."""

collect_ignore = ["options.py", "report_client.py"]
