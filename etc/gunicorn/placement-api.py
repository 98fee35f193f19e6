"""Configuration of Gunicorn, serving HTTP to a web server."""

bind = "127.0.0.1:8778"
workers = 2
threads = 8
wsgi_app = "placement.wsgi.api:application"
# By default, SCRIPT_NAME and PATH_INFO of a request replace the path of the service.
forwarder_headers = ""


def post_worker_init(worker):
    """Log that the worker has loaded the application and the snapshot; it accepts requests."""
    worker.log.info("Worker %s is ready", worker.pid)
