"""Documents of nova and glance, for the stand-in.

They have the shape of the examples in nova's API reference: "List Servers Detailed" and
"List Migrations" at 2.69 and 2.59, "List Hypervisors" at 2.53, "List Flavors With Details" at
2.61, and "Handling Down Cells" for servers of cells that are down; in glance's, "List API
versions" and "List images".
"""

PROJECT = "6f70656e737461636b20342065766572"
IMAGE = "70a599e0-31e7-49b7-b260-868f441e862b"
IMAGE_NAME = "cirros-0.6.3-x86_64"
FROM_VOLUME = ""  # as nova has the image of a server that was booted from a volume
FLAVOR_NAME = "m1.tiny"


def server(
    uuid, host="compute1", status="ACTIVE", task_state=None, *, image=IMAGE, name="new-server-test"
):
    """Return a server as the list with details has it since 2.47."""
    return {
        "id": uuid,
        "name": name,
        "status": status,
        "tenant_id": PROJECT,
        "user_id": "fake",
        "created": "2017-10-10T15:49:08Z",
        "updated": "2017-10-10T15:49:09Z",
        "image": image and {"id": image, "links": [_bookmark(f"images/{image}")]},
        "flavor": {
            "vcpus": 1,
            "ram": 512,
            "disk": 1,
            "ephemeral": 0,
            "swap": 0,
            "original_name": FLAVOR_NAME,
            "extra_specs": {"hw:numa_nodes": "1"},
        },
        "addresses": {
            "private": [
                {
                    "OS-EXT-IPS-MAC:mac_addr": "00:0c:29:0d:11:74",
                    "OS-EXT-IPS:type": "fixed",
                    "addr": "192.168.1.30",
                    "version": 4,
                }
            ]
        },
        "metadata": {"My Server Name": "Apache1"},
        "hostId": "2091634baaccdc4c5a1d57069c833e402921df696b7f970791b12ec6",
        "links": [{"href": f"http://nova/v2.1/servers/{uuid}", "rel": "self"}],
        "OS-EXT-AZ:availability_zone": "us-west",
        "OS-EXT-SRV-ATTR:host": "compute",
        "OS-EXT-SRV-ATTR:hypervisor_hostname": host,
        "OS-EXT-SRV-ATTR:instance_name": "instance-00000001",
        "OS-EXT-STS:power_state": 1,
        "OS-EXT-STS:task_state": task_state,
        "OS-EXT-STS:vm_state": "active",
    }


def _bookmark(path):
    return {"href": f"http://nova/{path}", "rel": "bookmark"}


def flavor():
    """Return a flavor as the list with details has it at 2.61."""
    return {
        "id": "1",
        "name": FLAVOR_NAME,
        "description": None,
        "vcpus": 1,
        "ram": 512,
        "disk": 1,
        "swap": "",
        "rxtx_factor": 1.0,
        "extra_specs": {"hw:numa_nodes": "1"},
        "OS-FLV-DISABLED:disabled": False,
        "OS-FLV-EXT-DATA:ephemeral": 0,
        "os-flavor-access:is_public": True,
        "links": [_bookmark("flavors/1")],
    }


def image():
    """Return an image as the list of glance has it."""
    return {
        "id": IMAGE,
        "name": IMAGE_NAME,
        "status": "active",
        "visibility": "public",
        "disk_format": "qcow2",
        "container_format": "bare",
        "min_disk": 0,
        "min_ram": 0,
        "size": 21692416,
        "checksum": "87617e24a5e30cb3b87fe8c0764838f5",
        "owner": PROJECT,
        "protected": False,
        "tags": [],
        "created_at": "2016-10-10T15:49:08Z",
        "updated_at": "2016-10-10T15:49:09Z",
        "self": f"/v2/images/{IMAGE}",
        "file": f"/v2/images/{IMAGE}/file",
        "schema": "/v2/schemas/image",
    }


def server_of_a_cell_that_is_down(uuid):
    """Return a server as it is listed since 2.69 if its cell does not answer."""
    return {
        "id": uuid,
        "status": "UNKNOWN",
        "tenant_id": PROJECT,
        "created": "2018-12-03T21:06:18Z",
        "links": [{"href": f"http://nova/v2.1/servers/{uuid}", "rel": "self"}],
    }


def hypervisor(uuid, name, state="up", status="enabled"):
    """Return a hypervisor as it is listed since 2.53."""
    return {
        "id": uuid,
        "hypervisor_hostname": name,
        "state": state,
        "status": status,
    }


def migration(
    uuid,
    instance_uuid,
    status="migrating",
    migration_type="live-migration",
    source="node1",
):
    """Return a migration as it is listed since 2.59."""
    return {
        "id": 1234,
        "uuid": uuid,
        "instance_uuid": instance_uuid,
        "status": status,
        "migration_type": migration_type,
        "source_compute": "compute1",
        "source_node": source,
        "dest_compute": "compute2",
        "dest_host": "1.2.3.4",
        "dest_node": "node2",
        "old_instance_type_id": 1,
        "new_instance_type_id": 2,
        "created_at": "2016-01-29T11:42:02.000000",
        "updated_at": "2016-01-29T11:42:02.000000",
        "links": [],
    }
