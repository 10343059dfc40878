"""Fashion-MNIST: garments in the format of MNIST."""

from rbmviz.datasets import Dataset
from rbmviz.datasets.mnist import idx_files
from rbmviz.datasets.raw import Publication, parts, published_images
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


PUBLISHED_GARMENTS = Publication(
    parts(60_000, 10_000, 28, 28),
    (
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
    ),
    files={
        "train-images-idx3-ubyte.gz": "md5:8d4fb7e6c68d591d4c3dfef9ec88bf0d",
        "train-labels-idx1-ubyte.gz": "md5:25c81989df183df01b3e8a0aad5dffbe",
        "t10k-images-idx3-ubyte.gz": "md5:bef4ecab320f06d8554ea6380940ec79",
        "t10k-labels-idx1-ubyte.gz": "md5:bb300cfdad3c16e7a12a480ee83cd310",
    },
    decode=idx_files,
    megabytes=30.9,
)


@dataset("fashion_mnist", label="Fashion-MNIST", published=PUBLISHED_GARMENTS)
def fashion_mnist(binarise: str | float = "0.5") -> Dataset:
    """Garments 28 x 28: 50,000 / 10,000 / 10,000.

    binarise : threshold between 0 and 1, or ``bernoulli`` (default 0.5)

    Raises BadInput if the rule is not valid, or the data are not on this machine.
    """
    source = "Xiao, Rasul, Vollgraf: Fashion-MNIST (2017), MIT licence"
    return published_images("fashion_mnist", binarise, 50_000, source=source, classes=CLASSES)
