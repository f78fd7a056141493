/** The price with tax, in cents. */
export function withTax(cents, percent) {
  return Math.floor(cents * (1 + percent / 100))
}
