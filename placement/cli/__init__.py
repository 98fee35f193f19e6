"""Commands of ``openstack``, beside those of osc-placement, whose client they use."""
