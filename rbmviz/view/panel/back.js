// @ts-check
// The slider that goes back through recent steps of all paused panels together.

class LookBack {
  /** @param {(at: number | null) => void} go shows the panels as they were after this many steps, or, for null, as they are now */
  constructor(go) {
    this.newest = 0;
    /** Whether the page shows means, which runs do not store. */
    this.ofMeans = false;
    /** The part that does not go back, with its verb. */
    this.stays = 'The numbers stay';
    this.slider = element('input', { type: 'range', step: 1, id: 'look-back', disabled: true, 'aria-label': 'Look back',
      oninput: () => { this.say(); go(Number(this.slider.value) >= this.newest ? null : Number(this.slider.value)); } });
    this.text = element('span', { class: 'where' });
    this.now = element('button', { type: 'button', class: 'now', text: 'Now', onclick: () => { this.slider.value = String(this.newest); this.say(); go(null); } });
    this.node = element('div', { class: 'back', hidden: true }, element('label', { for: 'look-back', text: 'Look back' }), this.slider, this.now, this.text);
  }

  /** @param {boolean} shown @param {boolean} present @param {boolean} ofMeans @param {string} [stays] */
  configure(shown, present, ofMeans, stays) {
    this.stays = stays ?? this.stays;
    this.node.hidden = !shown;
    this.node.classList.toggle('presented', present);
    this.ofMeans = ofMeans;
  }

  /**
   * Update the range from the panels; return whether the earlier view may stay.
   * @param {(PanelHead | null)[]} heads
   */
  follow(heads) {
    const known = heads.flatMap(head => (head ? [head] : []));
    const isPaused = known.length > 0 && known.every(({ status, held_from }) => status === 'paused' && typeof held_from === 'number');
    const newest = Math.max(0, ...known.map(({ n }) => n)), oldest = Math.max(0, ...known.map(({ held_from }) => held_from ?? 0)) + 1;
    const canGo = isPaused && newest > oldest, stays = canGo && newest === this.newest && !this.slider.disabled;
    this.node.classList.toggle('open', canGo);
    this.slider.disabled = this.now.disabled = !canGo;
    this.newest = newest;
    if (stays && Number(this.slider.min) === oldest) return true;
    // Set the range before the value, which must be in range.
    this.slider.min = String(Math.min(oldest, newest));
    this.slider.max = String(newest);
    this.slider.value = String(newest);
    this.say();
    return false;
  }

  say() {
    const at = Number(this.slider.value), back = at < this.newest;
    const range = `kept from ${whole.format(Number(this.slider.min))} to ${whole.format(this.newest)}`;
    const text = this.slider.disabled ? ''
      : back ? `Sample ${whole.format(at)}, ${range}. ${this.stays} current${this.ofMeans ? ', and the pixels are the sampled bits' : ''}.`
        : `Now, at sample ${whole.format(at)}: ${range}.`;
    this.slider.setAttribute('aria-valuetext', back ? `sample ${whole.format(at)} of ${whole.format(this.newest)}` : 'now');
    this.node.classList.toggle('away', back && !this.slider.disabled);
    put(this.text, text);
  }
}
