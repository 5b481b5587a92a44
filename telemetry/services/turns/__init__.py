"""Turn events: taking, keeping, listing and removing them."""
