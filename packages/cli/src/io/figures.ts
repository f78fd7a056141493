import type { RunResult } from '@halting/core'
import { many } from '@halting/analysis/words'
import { fitted } from './columns.ts'

export { counted, elapsed, limitLabels, many, money, moneyAtMost } from '@halting/analysis/words'

/** What a limit on tokens counted: at most so many, where a request was cut and nobody said what it came to. */
export function tokensCounted({ totalTokens, costUsd, committedUsd }: RunResult): string {
  const counts = many(totalTokens, 'token')
  return committedUsd > costUsd ? `up to ${counts}` : counts
}

/** The text in one line of at most so many columns, of which it is all that its direction tells about. */
export function oneLine(text: string, width: number): string {
  return fitted(printable(text).replaceAll(directionControls, '').replaceAll(/\s+/g, ' ').trim(), width)
}

/** What turns text around would also turn what stands behind it on the line: figures, names, a command. */
const directionControls = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g

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

/** What is left of a time, as a stopwatch shows it: never negative, and 0:00 no earlier than it is over. */
export function timeLeft(ms: number): string {
  return stopwatch(Math.max(0, Math.ceil(ms / 1_000) * 1_000))
}

/** Whoever comes back within so much time wants to know the second. */
const soonMs = 600_000

/** A moment in local time: `14:05`, `14:05:30` where that is soon, `2026-11-30 14:05` where it is on another day. Milliseconds since 1970. */
export function clockText(ms: number, now: number): string {
  const [moment, today] = [new Date(ms), new Date(now)]
  const two = (value: number): string => String(value).padStart(2, '0')
  const day = `${moment.getFullYear()}-${two(moment.getMonth() + 1)}-${two(moment.getDate())}`
  const isToday = moment.toDateString() === today.toDateString()
  const seconds = Math.abs(ms - now) < soonMs ? `:${two(moment.getSeconds())}` : ''
  return `${isToday ? '' : `${day} `}${two(moment.getHours())}:${two(moment.getMinutes())}${seconds}`
}

/** `850`, `12.3k`, `1.2M`. */
export function rounded(count: number): string {
  if (count < 1_000) return String(count)
  return count < 999_950 ? `${(count / 1_000).toFixed(1)}k` : `${(count / 1_000_000).toFixed(1)}M`
}
