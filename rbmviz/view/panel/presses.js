// @ts-check
// Presses of Play, Pause, Step and Reset, on their way from the buttons to the socket. Buttons and socket are in different
// components, and either may be mounted first, so both find their page's presses by the address of the socket.

/**
 * A press, numbered within this page: the server carries out each number once, so that a press can be sent again.
 * @typedef {{ press: string, page: string, n: number }} Press
 */

/** Maximum number of unanswered presses; further presses are refused. rbmviz_app/stream/socket.py accepts some more. */
const MAX_PRESSES = 100;

class Presses {
  /** @param {string} url of the socket @returns {Presses} */
  static of(url) { return sharedFor('rbmvizPresses', url, () => new Presses()); }

  constructor() {
    this.page = [...crypto.getRandomValues(new Uint8Array(8))].map(byte => byte.toString(16).padStart(2, '0')).join('');
    this.newest = 0;
    /** Presses without an answer. @type {Press[]} */
    this.waiting = [];
    /** Whether the page plays, according to the server's last message. */
    this.running = false;
    /** Sends a message over the open socket; null while the socket is closed. @type {((press: Press) => void) | null} */
    this.send = null;
    /** Draws the buttons. */
    this.draw = () => {};
    /** Called when the server has carried out a press. */
    this.onDone = () => {};
  }

  /** Whether the page will play once the server has carried out all presses. @returns {boolean} */
  get willRun() {
    const last = this.waiting.filter(({ press }) => press !== 'reset').pop()?.press;
    return last ? last === 'play' : this.running;
  }

  /** @param {string} name */
  press(name) {
    if (this.waiting.length >= MAX_PRESSES) return;
    const press = { press: name, page: this.page, n: ++this.newest };
    this.waiting.push(press);
    this.send?.(press);
    this.draw();
  }

  /** The socket has opened: send all unanswered presses. @param {(press: Press) => void} send */
  opened(send) {
    this.send = send;
    this.waiting.forEach(send);
  }

  closed() { this.send = null; }

  /** The server has carried out all presses up to a number. @param {number} n */
  done(n) {
    this.waiting = this.waiting.filter(press => press.n > n);
    this.draw();
    this.onDone();
  }

  /** @param {boolean} running whether the page plays */
  follow(running) {
    if (running === this.running) return;
    this.running = running;
    this.draw();
  }
}
