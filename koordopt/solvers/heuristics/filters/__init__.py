"""Filter plug-ins, one file each, named as the rule in ``models/rules`` that they enforce."""
