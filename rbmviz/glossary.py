"""One name for one thing, in the whole project; ``glossary`` returns these words as data.

First words
model        a restricted Boltzmann machine (RBM), which has learned how likely every picture is
visible unit  one pixel, off or on (0 or 1)
hidden unit  not observed; responds to a learned pattern of pixels
weight       how strongly a visible and a hidden unit want to be on together; in pop-CD, how much a sample
             counts
sample       a picture drawn from the model
chain        a sequence of samples, each drawn from the one before
sweep        one Gibbs sweep: draws all hidden units from the pixels, then all pixels from the hidden units
sweep of settings  a grid search over the knobs of an algorithm, on the page Tune
class        the kind of picture, such as its digit: the class of the nearest example
mode         similar pictures that the model finds likely, surrounded by unlikely ones
mixing       how quickly a chain visits all modes; a chain that mixes badly gets stuck in one
spurious     a sample that looks like nothing in the data
blank        a nearly empty sample, where no example is empty
training     changing the weights little by little until the data are likely
update       one such change, from a few examples
bias         how far an estimate is off on average
temperature  divides every activation: above 1 a chain moves more freely and its samples blur

Ways to sample
Gibbs sampling  sweeps and nothing else: correct in the long run, which may be longer than you can wait
rates        means over the training examples: of the pixels, of the hidden units, and of their products
rates-FPCD   Gibbs sampling in a model that changes a little after each sample, away from where the chain
             has just been and towards the rates, so that the chain soon leaves every mode
rates-herding  the same without randomness: each sample is a mode of the changed model
sample penalization  rates-FPCD without the rates: nothing pulls the chain back to the data

Ways to train
exact gradient  the direction in which the likelihood grows fastest; only small models let us compute it
CD           contrastive divergence: short chains start at examples, and the states where they end are made
             less likely; fast and biased
PCD          persistent CD: the chains never restart, and so get farther from the data
FPCD         PCD whose chains are pushed away from where they have been by fast weights, and so mix faster
pop-CD       population CD: CD whose samples are weighted by how much more likely they are under the model
             than under the distribution they were drawn from, which removes most of the bias
UCD          unbiased CD: two chains run until they meet; their differences on the way correct CD
polish       rates-FPCD that keeps its parameters, which moves a trained model to the optimum for its rates
herding      training that never ends: the model chases the data, and the mean of its samples converges
parallel tempering  chains at several temperatures swap states, so that the coldest escapes from every
             mode

Meetings
coupling     drawing two chains together, each correct on its own, so that they meet and stay equal
meeting time  the sweep at which two coupled chains become equal, written τ

Numbers and their units
nats         the unit of all logarithms of probabilities here: one nat more is 2.7 times as likely
log-likelihood  mean logarithm of the probability that a model gives an example, in nats: closer to zero is
             better
ISL          indirect sampling likelihood: how well samples predict unseen pictures, in nats; good samples
             score like the training examples themselves, the dashed line of the chart
effective sample size  the number of independent samples, or equal weights, with the same precision (ESS)
R-hat        how much several chains disagree (Gelman and Rubin); near 1 if they agree
autocorrelation  how alike two samples of a chain are that are so many draws apart
effective temperature  the temperature at which a model best explains each pixel of the samples by the others
finding      a reason not to trust samples yet, in a sentence; none does not mean that nothing is wrong
standard error  typical random error of an estimate

The model
W            weights, float32 (n_visible, n_hidden); scikit-learn stores the transpose
b, c         visible bias (n_visible,), hidden bias (n_hidden,)
v, h         visible and hidden state, values 0 and 1
p            mean of v given the h that v was drawn from, float32
theta        the parameters (W, b, c) together
free_energy  F(v) with exp(-F(v)) the unnormalised probability of v
log_z        logarithm of the partition function
law          a probability distribution; the law of the model is p(v)
beta         inverse temperature (tempering); in ISL the parameter of the kernel
statistics   the sufficient statistics s = (v h', v, h); in "mean" statistics h is replaced by its mean
R            the rates, R = (<v E[h|v]'>, <v>, <E[h|v]>)

Chains
k            sweeps for one sample or one update
v0           the state in which a chain begins
n_chains     chains that take turns; sample t belongs to chain t % n_chains
interleave   to put the samples of several chains into one sequence, in turns
target       the model that the next sample of a chain is drawn from
exact_chain  whether a chain leaves the law of the model invariant
driven       chains whose parameters move and push them away from states they have visited
theta_F      the fast parameters, which are added to theta while a driven chain runs
eps, alpha   step size and decay of theta_F
fast_norm    the Euclidean norm of theta_F
share        whether all chains have one theta_F, which moves by the mean of their statistics
tau          the sweep at which two coupled chains meet: their meeting time
cut off      a pair that had not met after the largest number of sweeps allowed; fields say ``truncated``
lag          sweeps by which the first of two coupled chains is ahead
burn_in      updates or sweeps that are discarded until a chain has forgotten its start
thin         to keep only every n-th sample of a chain

Training
batch_size   rows of the training data in one update
iterations   the updates of a training; as a knob, the updates until a linear schedule reaches 0
negative     the model's statistics in an update, in which trainers differ; the positive ones are the data's
persistent   chains that continue from update to update; fresh chains restart at each
fantasy      a sample of a model in training, for display: from separate chains, which no trainer reads
own statistics  statistics that only one trainer reports, besides the common ones
origin       of a training: the models that it continues; of a file: what it was made from, and by what
checkpoint   a training as bytes, from which it continues to the same bits

Runs
knob         a parameter of an algorithm that users may change, declared beside its field
setting      of a sweep of settings: an algorithm with all its knobs, on one model; a cell of the map on the
             page Tune. Of a page: what one of its widgets chooses, which the address says
cell         of a sweep of settings: the run of one setting with one seed, whose results are one file
live         a knob that may change during a run
turn         a new value of a live knob: a sampler's run is scored from there on; dragging a slider is one
             turn
segment      the samples of a run from one turn to the next
chunk        steps that a run makes between two looks at its commands, about 30 ms of work
setup        what the panels of a page share: model, data, seed, start; in kernels: how pairs are run
plan         what one run is made of: model, data, seed, start and what else its kind needs
run          one algorithm at work: a chain that is sampled, a model that is trained, pairs that are coupled
race         the panels of one page, which take commands together and have one clock
panel        one algorithm on a page, with its knobs and its run
job          what advances all panels of a page once, twenty times a second; a page has at most one waiting
pool         threads that do the jobs of all pages in order: paced, full, long
snapshot     what a run shows at one moment, as a record that never changes
run log      seed, start and changes of knobs: enough to replay a run

Kernels
kernel       a function that numba compiles: arrays in, arrays out
stream       random numbers of one purpose, found by a seed and a name; for kernels, their generators' state
lanes        parts of a vector register; of a stream: the generators that are advanced side by side in them
pre-activation  what the sigmoid turns into a unit's mean: its bias plus its weights to the active units
flips        units that differ from the sweep before; only their rows change a pre-activation
half-step    v -> h, or h -> v; the half-step coupling couples both maximally, algorithms 1 and 3 only h -> v
regime       how theta_F is stored: as a history, or as rows of a matrix
M            the matrix, with biases, that holds a part of theta_F or all of it, and may hold theta, too
history      the newest samples of a chain, packed as bits; their weighted statistics P are the samples' part
             of theta_F if it decays fast
pending      an update of rank 1 that is not yet written to the rows of a matrix
tile         some columns of a matrix, copied next to each other for the cache
pair         two coupled chains
maximal coupling  makes two draws equal as often as their distributions allow
residual     what one distribution has in excess of the other; drawn by proposals, which may be rejected
oracle       the slow form that a kernel is tested against
"""

import re
from typing import NamedTuple


class Words(NamedTuple):
    """A part of the glossary: its title, and the meaning of each word or group of synonyms."""

    title: str
    meanings: dict[str, str]


def glossary() -> list[Words]:
    """Return the parts of the glossary in order; empty if Python keeps no docstrings (``-OO``)."""
    text = re.sub(r"\n +", " ", (__doc__ or "").partition("\n\n")[2].strip())  # one line per entry
    parts = [part.splitlines() for part in text.split("\n\n")] if text else []
    return [Words(lines[0], dict(_entry(line) for line in lines[1:])) for lines in parts]


def _entry(line: str) -> tuple[str, str]:
    """Return the word and the meaning in a line; at least two spaces separate them."""
    word, meaning = re.split(r"\s{2,}", line, maxsplit=1)
    return word, meaning
