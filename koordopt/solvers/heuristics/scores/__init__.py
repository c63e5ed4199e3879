"""Score plug-ins, one file each."""
