"""Fashion-MNIST: garments in the format of MNIST."""

from rbmviz.datasets import Dataset
from rbmviz.datasets.raw import published_images
from rbmviz.registry import dataset

CLASSES = (
    "T-shirt",
    "trouser",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
)


@dataset("fashion_mnist", label="Fashion-MNIST")
def fashion_mnist(binarise: str | float = "0.5") -> Dataset:
    """Garments 28 x 28: 50,000 / 10,000 / 10,000.

    binarise : threshold between 0 and 1, or ``bernoulli`` (default 0.5)

    Raises BadInput if the rule is not valid, or the data are not on this machine.
    """
    source = "Xiao, Rasul, Vollgraf: Fashion-MNIST (2017), MIT licence"
    return published_images("fashion_mnist", binarise, 50_000, source=source, classes=CLASSES)
