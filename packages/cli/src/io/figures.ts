import type { RunResult } from '@halting/core'
import { many } from '@halting/analysis/words'
import { truncateToColumns } from './columns.ts'

export { counted, elapsed, limitLabels, many, money, moneyAtMost } from '@halting/analysis/words'

/** Tokens that count towards a limit; an upper bound if the usage of some requests was never reported. */
export function tokensCounted({ totalTokens, costUsd, committedUsd }: RunResult): string {
  const counts = many(totalTokens, 'token')
  return committedUsd > costUsd ? `up to ${counts}` : counts
}

/** The text on one line of at most `width` columns, without characters that change the text direction. */
export function oneLine(text: string, width: number): string {
  return truncateToColumns(printable(text).replaceAll(directionControls, '').replaceAll(/\s+/g, ' ').trim(), width)
}

/** The text on one line, without control and direction characters. Unlike `oneLine`, keeps its spaces, except at the end. */
export function withoutLineBreaks(text: string): string {
  const plain = printable(text).replaceAll(directionControls, '').trimEnd()
  return plain.replaceAll(/\s+/g, (blanks) => (/[^ ]/.test(blanks) ? ' ' : blanks))
}

/** Direction controls would also reverse what follows on the line: figures, names, a command. */
const directionControls = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g

/** A message of the program itself, as a line for stderr. */
export function programMessage(message: string): string {
  return `halting: ${printable(message)}\n`
}

/** The lines of messages that `programMessage` formatted, without the program name: for frontends that show such messages in a place of their own. */
export function programMessageLines(text: string): readonly string[] {
  return text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.replace(/^halting: /, '')]))
}

/** Text from outside the program without control characters and escape sequences. */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is taken out
  return text.replaceAll(/\u001B\[[\d;?]*[ -/]*[@-~]|[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g, '')
}

/** `0:07`, `12:05`, `1:02:09`: an elapsed time. */
export function stopwatch(ms: number): string {
  const seconds = Math.floor(ms / 1_000)
  const two = (value: number): string => String(value).padStart(2, '0')
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60]
  return hours === 0 ? `${minutes}:${two(seconds % 60)}` : `${hours}:${two(minutes)}:${two(seconds % 60)}`
}

/** The remaining time as a stopwatch shows it: never negative, and 0:00 only once it is over. */
export function timeLeft(ms: number): string {
  return stopwatch(Math.max(0, Math.ceil(ms / 1_000) * 1_000))
}

/** A time of day that is closer than this is shown with seconds, in milliseconds. */
const soonMs = 600_000

/** A time of day: `14:05`, `14:05:30` if it is close, `2026-11-30 14:05` if it is on another day. Both arguments are milliseconds since 1970. */
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
