// Loaded before the program: the wall clock is set back and forth, as a person or a time server does it. Clocks that nobody sets go on.
const RealDate = Date
let offset = 0
setInterval(() => { offset += Math.floor((Math.random() - 0.6) * 4_000) }, 20).unref() // prettier-ignore
const now = () => RealDate.now() + offset
globalThis.Date = class extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(now())
    else super(...given)
  }
  static now() {
    return now()
  }
}
