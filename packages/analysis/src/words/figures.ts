// Figures in words, for the terminal, exports, reports and the page.

/** Labels of limits in lists of figures, by their names in an account. */
export const limitLabels = {
  maxTurns: 'turns',
  maxBudgetUsd: 'dollars',
  maxRunUsd: 'dollars, run',
  maxToolCalls: 'tool calls',
  maxTotalTokens: 'tokens',
  maxDurationMs: 'time',
  maxGoalTries: 'goal tries',
  noProgress: 'same turns',
} as const

/** `1,234`. */
export function counted(value: number): string {
  return grouped(String(Math.round(value)))
}

/** Groups digits in threes. `toLocaleString` would load the tables of every locale, which costs 15 ms at start. */
function grouped(number: string): string {
  const [whole = '', ...fraction] = number.split('.')
  return [whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ','), ...fraction].join('.')
}

/** `3 turns`, `1 turn`. */
export function many(count: number, what: string): string {
  return `${counted(count)} ${what}${count === 1 ? '' : 's'}`
}

/** `$0.0123`: four decimals below a dollar, two above. */
export function money(usd: number): string {
  const digits = Math.abs(usd) < 1 ? 4 : 2
  return `$${grouped(usd.toFixed(digits))}`
}

/** The same, rounded up: for upper bounds. */
export function moneyAtMost(usd: number): string {
  const unit = usd < 1 ? 10_000 : 100
  // Tolerance for rounding errors of floating-point numbers.
  return money(Math.ceil(usd * unit - 1e-6) / unit)
}

/** `850 ms`, `12.3 s`, `4 min 5 s`, `25 h`. */
export function elapsed(ms: number): string {
  if (Math.round(ms) < 1_000) return `${Math.round(ms)} ms`
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`
  const seconds = Math.round(ms / 1_000)
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  const minutes = Math.round(seconds / 60)
  return `${counted(Math.floor(minutes / 60))} h${minutes % 60 === 0 ? '' : ` ${minutes % 60} min`}`
}
