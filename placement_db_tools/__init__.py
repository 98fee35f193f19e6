"""Scripts that copy the tables of Placement out of the database ``nova_api``.

``importlib.resources.files("placement_db_tools") / "mysql-migrate-db.sh"`` is where one is.
"""
