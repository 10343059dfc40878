"""The trained models: ``rbmviz.pretrained``, whose folder in a checkout is beside the folder ``rbmviz``."""
