import type { Terminal } from '@halting/core'
import { fitted } from './columns.ts'

/** `1,234`. */
export function counted(value: number): string {
  return grouped(String(Math.round(value)))
}

/** Digits in threes. `toLocaleString` would load the tables of every locale, which costs a start 15 ms. */
function grouped(number: string): string {
  const [whole = '', ...fraction] = number.split('.')
  return [whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ','), ...fraction].join('.')
}

/** `3 turns`, `1 turn`. */
export function many(count: number, what: string): string {
  return `${counted(count)} ${what}${count === 1 ? '' : 's'}`
}

/** What a limit on tokens counted: at most so many, where a request was cut and nobody said what it came to. */
export function tokensCounted({ totalTokens, costUsd, committedUsd }: Terminal): string {
  const counts = many(totalTokens, 'token')
  return committedUsd > costUsd ? `up to ${counts}` : counts
}

/** `$0.0123`: four decimals below a dollar, two above. */
export function money(usd: number): string {
  const digits = Math.abs(usd) < 1 ? 4 : 2
  return `$${grouped(usd.toFixed(digits))}`
}

/** The same, rounded up: for what was not exceeded. */
export function moneyAtMost(usd: number): string {
  const unit = usd < 1 ? 10_000 : 100
  // A little less: 0.1 is not quite a tenth.
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

/** The text in one line of at most so many columns, of which it is all that its direction tells about. */
export function oneLine(text: string, width: number): string {
  return fitted(printable(text).replaceAll(turning, '').replaceAll(/\s+/g, ' ').trim(), width)
}

/** What turns text around would also turn what stands behind it on the line: figures, names, a command. */
const turning = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g

/** What the program itself has to say, in whatever words. */
export function told(message: string): string {
  return `halting: ${printable(message)}\n`
}

/** What `told` wrote, line by line and without the program's name: for a face that has a place of its own for it. */
export function linesOfTold(text: string): readonly string[] {
  return text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.replace(/^halting: /, '')]))
}

/** Text from elsewhere without what would steer a terminal. */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is taken out
  return text.replaceAll(/\u001B\[[\d;?]*[ -/]*[@-~]|[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g, '')
}

/** `0:07`, `12:05`, `1:02:09`: how long something goes on. */
export function stopwatch(ms: number): string {
  const seconds = Math.floor(ms / 1_000)
  const two = (value: number): string => String(value).padStart(2, '0')
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60]
  return hours === 0 ? `${minutes}:${two(seconds % 60)}` : `${hours}:${two(minutes)}:${two(seconds % 60)}`
}

/** `850`, `12.3k`, `1.2M`. */
export function rounded(count: number): string {
  if (count < 1_000) return String(count)
  return count < 999_950 ? `${(count / 1_000).toFixed(1)}k` : `${(count / 1_000_000).toFixed(1)}M`
}
