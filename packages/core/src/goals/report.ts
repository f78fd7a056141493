import { hashText } from '../values/hash.ts'
import { tailOf } from '../values/text.ts'
import type { GoalCheck } from '../verification/goal-record.ts'

/** Maximum lines and characters of a report that the model receives. */
const maxLines = 200
const maxCharacters = 16_000
/** Maximum lines and characters of a report in records, events and results. */
const maxTailLines = 10
const maxTailCharacters = 1_000

/** The last lines of a text, within a number of characters. */
function lastLines(text: string, lines: number, characters: number): string {
  const cut = tailOf(text.trimEnd(), characters)
  const all = cut.split('\n')
  return all.length <= lines ? cut : all.slice(-lines).join('\n')
}

/** The end of a report, for the model. */
export function reportForModel(report: string): string {
  return lastLines(report, maxLines, maxCharacters)
}

/** The end of a report, for records, events and results. */
export function tailOfReport(report: string): string {
  return lastLines(report, maxTailLines, maxTailCharacters)
}

/** Lines that a package manager prints around the program it runs. */
const packageManagerLine = /^(?:npm|pnpm|yarn) (?:notice|warn|err|error)|^> /i
/** Lines that it prints when it ran nothing, such as for a missing script. */
const packageManagerError = /^(?:npm|pnpm|yarn) (?:err!?|error) .*[a-z]/i
/** A count of failures, as test runners and compilers print it: `3 failed`, `fail 3`, `2 errors`. */
const failureCount =
  /\b[1-9]\d*\s+(?:\w+\s+){0,2}(?:fail|error|problem)|\b(?:fail(?:ed|ures?)?|errors?)\b[:\s]+[1-9]\d*\b/i

/**
 * The most informative line of a check's report. For a program it is the summary, else the last line; for a judge the
 * first line, which is the reason. '' for none.
 */
export function lineOfCheck({ tail, judged }: Pick<GoalCheck, 'tail' | 'judged'>): string {
  const all = tail.split('\n').map((line) => line.trim())
  const lines = all.filter((line) => line !== '' && !packageManagerLine.test(line))
  if (judged === true) return lines[0] ?? ''
  const summary = lines.findLast((line) => failureCount.test(line)) ?? lines.at(-1)
  // If the package manager ran a program, a line "> test" shows it, and its error only says that the program failed.
  return (
    summary ??
    (all.some((line) => line.startsWith('> ')) ? '' : (all.find((line) => packageManagerError.test(line)) ?? ''))
  )
}

// eslint-disable-next-line no-control-regex -- escape sequences of terminals are what is taken out
const escapes = /\u001B\[[\d;?]*[ -/]*[@-~]/g

/** Reports that differ only in numbers, times, addresses or spaces have the same digest: test runners print durations. */
export function digestOfReport(name: string, report: string): number {
  const plain = report
    .replaceAll(escapes, '')
    .replaceAll(/0x[\da-f]+/gi, '#')
    .replaceAll(/\d+/g, '#')
    .replaceAll(/\s+/g, ' ')
    .trim()
  return hashText(plain, hashText(name))
}
