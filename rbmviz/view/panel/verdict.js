// @ts-check
// The verdict on a chain: one line under a panel's numbers, with a mark; the fold has all that was found, and charts of
// the rows that were looked at.

const SIGNS = { fine: '✓', unsure: '…', found: '!', inexact: '≈' }; // the last: the gravest finding is another temperature
const DOT = 0.4; // size of a dot of a trace, in usual marks
const FAINTEST = 0.15; // opacity of the rarest change of class
const SMALL_CORRELATION = 0.05, FEWEST_LAGS = 20, LAGS_SHOWN = 3; // lags are shown up to this many times the first with a small autocorrelation

/**
 * The part of a frame's head about the samples: a mark, a line, each finding with its source, and samples of a chain from
 * one traced row to the next.
 * @typedef {{ mark?: keyof typeof SIGNS, verdict?: string, findings?: [string, string][], stride?: number, readouts?: object, ladder?: LadderHead }} VerdictHead
 */

/**
 * The rows that were looked at, chain by chain, with their classes (0: blank, 1: unlike the data, class c: c + 2), and how often
 * a chain went from one class (or, last, blank) to another.
 * @typedef {{ chains: number, stride: number, energy: ArrayLike<number>, classes: ArrayLike<number>, correlation: number[], jumps: number[][] }} Look
 */

/** @param {string} title @param {Partial<AxisSpec>} [more] @returns {AxisSpec} */
const axisOf = (title, more = {}) => ({ title, scale: 'linear', percent: false, unit: '', domain: null, zero: false, ticks: [], names: [], ...more });

/** @param {string} label @param {AxisSpec} x @param {AxisSpec} y @param {Partial<CurvesSpec>} more @returns {CurvesSpec} */
const chartOf = (label, x, y, more) => ({ label, x, y, lines: [], marks: [], bars: [], names: [], image: '', levels: [], ends: [], legend: false, ...more });

/** @param {string} name @param {string} colour @param {[number, number][]} points @param {Partial<LineSpec>} more @returns {LineSpec} */
const lineOf = (name, colour, points, more) => ({ name, colour, dash: [], width: 2, points, band: [], band_opacity: 0, shape: '', step: false, ...more });

/** @param {Look} look @param {string[]} names of the classes @param {string} usual colour without classes @returns {[CurvesSpec, string[]]} the free energies in the colours of the classes */
function traceChart({ chains, stride, energy, classes }, names, usual) {
  const draws = energy.length / chains, kinds = [...new Set(Array.from(classes))].sort((a, b) => a - b), shapes = ['circle', ...Object.keys(SHAPES)];
  const lines = kinds.map(kind => lineOf(names.length ? ['blank', 'unlike the data', ...names][kind] : '', kind < 2 ? '#808080' : names.length ? `hsl(${360 * (kind - 2) / names.length} 70% 48%)` : usual,
    Array.from(energy, (value, i) => /** @type {[number, number]} */ ([stride * (i % draws), value])).filter((_, i) => classes[i] === kind), { shape: shapes[kind % shapes.length], size: DOT }));
  const mean = Array.from(energy).reduce((sum, value) => sum + value, 0) / energy.length;
  const every = stride > 1 ? ` Every ${whole.format(stride)}th sample.` : '';
  return [chartOf('Free energy, by class', axisOf('Sample'), axisOf('Free energy'), { lines }), [`Mean ${fiveDigits.format(mean)} nats.${every}`.replace('-', '−')]];
}

/** @param {Look} look @param {string} colour @returns {[CurvesSpec, string[]]} */
function correlationChart({ correlation, stride }, colour) {
  const small = correlation.findIndex(value => !(value > SMALL_CORRELATION)), end = small < 0 ? correlation.length : Math.max(FEWEST_LAGS, LAGS_SHOWN * small);
  const points = correlation.slice(0, end).map((value, lag) => /** @type {[number, number]} */ ([stride * lag, value])).filter(([, value]) => Number.isFinite(value));
  const last = correlation.length - 1, said = !points.length ? 'All samples have the same.' : small < 0 ? `Still ${round3(correlation[last])} at lag ${whole.format(stride * last)}.` : `Below ${SMALL_CORRELATION} from lag ${whole.format(stride * small)} on.`;
  return [chartOf('Autocorrelation', axisOf('Lag (samples)'), axisOf('Autocorrelation', { zero: true }), { lines: [lineOf('', colour, points, { dash: [1, 0] })] }), [said]];
}

/** @param {number[][]} jumps @param {string[]} classes @param {string} colour @returns {[CurvesSpec, string[]]} a cell for each class left and entered, and the lengths of stays */
function jumpsChart(jumps, classes, colour) {
  const all = [...classes, 'blank'], sums = jumps.map(row => row.reduce((sum, count) => sum + count, 0));
  const kept = all.map((_, i) => i).filter(i => i < classes.length || sums[i] || jumps.some(row => row[i])), n = kept.length, names = kept.map(i => all[i]);
  const bars = kept.flatMap((from, i) => kept.flatMap((to, j) => (jumps[from][to] ? [{ sides: /** @type {[number, number, number, number]} */ ([j, j + 1, n - 1 - i, n - i]), colour, opacity: Math.max(Math.sqrt(jumps[from][to] / sums[from]), FAINTEST), text: whole.format(jumps[from][to]) }] : [])));
  const left = kept.map(i => sums[i] - jumps[i][i]), changes = left.reduce((sum, count) => sum + count, 0), total = sums.reduce((sum, count) => sum + count, 0);
  const stays = kept.flatMap((i, at) => (sums[i] ? [`${names[at]}: ${left[at] ? round3(sums[i] / left[at]) : `over ${whole.format(sums[i])}`}`] : []));
  return [chartOf('From class (row) to class', axisOf('to', { names }), axisOf('from', { names: [...names].reverse() }), { bars }),
    [`${whole.format(changes)} changes in ${whole.format(total)} samples. A stay lasts, in samples, on average ${stays.join(', ')}.`]];
}

/** The charts behind a verdict. */
class LookCharts {
  constructor() {
    this.charts = [new Curves(), new Curves(), new Curves(), new Curves()];
    for (const { node } of this.charts) node.className = 'looked-at'; // lessons look for the charts of the page
    this.node = element('div', { class: 'look', hidden: true }, ...this.charts.map(({ node }) => node));
    /** @type {Look | null} */
    this.look = null;
    /** The ladder and its newest path. @type {[LadderHead, number[][]] | null} */
    this.ladder = null;
    /** What the charts were drawn from. @type {unknown[]} */
    this.drawn = [];
  }

  /** @param {VerdictHead} head @param {PanelPart['blocks']} blocks */
  take({ stride, readouts, ladder }, { energy, energy_class, autocorrelation, jumps, path }) {
    if (ladder && path) this.ladder = [ladder, Array.from({ length: path.shape[0] }, (_, t) => Array.from(path.data.slice(t * path.shape[1], (t + 1) * path.shape[1])))];
    if (readouts && !stride) this.look = null;
    if (!energy || !energy_class || !autocorrelation || !stride || this.look?.energy === energy.data) return;
    const counts = Array.from(jumps?.data ?? []), states = jumps?.shape[0] ?? 0;
    this.look = { chains: energy.shape[0], stride, energy: energy.data, classes: energy_class.data, correlation: Array.from(autocorrelation.data),
      jumps: Array.from({ length: states }, (_, i) => counts.slice(i * states, (i + 1) * states)) };
  }

  /** @param {string[]} classes @param {string} colour @param {number[]} ink */
  draw(classes, colour, ink) {
    const { look, ladder, charts } = this;
    this.node.hidden = !look && !ladder;
    const from = [look, ladder, colour, ink, this.node.clientWidth];
    if (this.node.hidden || from.every((one, i) => one === this.drawn[i])) return;
    this.drawn = from;
    const made = [...ladder ? [ladderChart(...ladder)] : [], ...look ? [traceChart(look, classes, colour), correlationChart(look, colour), ...classes.length ? [jumpsChart(look.jumps, classes, colour)] : []] : []];
    charts.forEach((chart, i) => {
      chart.node.hidden = !made[i];
      if (!made[i]) return;
      chart.show(...made[i]);
      chart.draw(ink);
    });
  }
}

class Verdict {
  constructor() {
    this.sign = element('span', { class: 'sign', 'aria-hidden': 'true' });
    this.line = element('span', { class: 'line' });
    this.node = element('p', { class: 'trust', hidden: true }, this.sign, this.line);
    this.list = element('dl', { class: 'found' });
    this.key = '';
  }

  /** @param {VerdictHead} head */
  draw({ mark = 'unsure', verdict = '', findings = [] }) {
    this.node.hidden = !verdict;
    const key = JSON.stringify([mark, verdict, findings]);
    if (key === this.key) return;
    this.key = key;
    this.node.dataset.mark = mark;
    this.node.title = findings[0]?.[0] ?? verdict;
    put(this.sign, SIGNS[mark]);
    put(this.line, verdict);
    this.list.replaceChildren(...Array.from(findings, ([said, source]) => [element('dt', { text: said }), element('dd', { text: source })]).flat()); // '' where numbers are hidden
  }
}
