"""Commands of ``openstack`` that use the client of osc-placement."""
