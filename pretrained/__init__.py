"""The trained models: ``rbmviz.pretrained``, whose folder in a checkout lies beside that of ``rbmviz``."""
