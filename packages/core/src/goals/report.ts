import { hashText } from '../values/hash.ts'
import { tailOf } from '../values/text.ts'
import type { GoalCheck } from '../verification/goal-record.ts'

/** What the model is shown of a report at most. */
const mostLines = 200
const mostCharacters = 16_000
/** What records, events and results keep of it. */
const mostTailLines = 10
const mostTailCharacters = 1_000

/** The last lines of a text, within so many characters. */
function lastLines(text: string, lines: number, characters: number): string {
  const cut = tailOf(text.trimEnd(), characters)
  const all = cut.split('\n')
  return all.length <= lines ? cut : all.slice(-lines).join('\n')
}

/** The end of a report, as the model is shown it. */
export function shownReport(report: string): string {
  return lastLines(report, mostLines, mostCharacters)
}

/** The end of a report, as it is told. */
export function tailOfReport(report: string): string {
  return lastLines(report, mostTailLines, mostTailCharacters)
}

/** What a package manager says around the program that it runs. */
const isAround = /^(?:npm|pnpm|yarn) (?:notice|warn|err|error)|^> /i
/** What it says where it ran nothing, such as for a script that is not there. */
const isItsError = /^(?:npm|pnpm|yarn) (?:err!?|error) .*[a-z]/i
/** A count of what failed, as test runners and compilers print it: `3 failed`, `fail 3`, `2 errors`. */
const isSum = /\b[1-9]\d*\s+(?:\w+\s+){0,2}(?:fail|error|problem)|\b(?:fail(?:ed|ures?)?|errors?)\b[:\s]+[1-9]\d*\b/i

/** The line of a check's report that says most: of a program what it sums up, else its last; of a judge the first, which is the reason. '' for none. */
export function lineOfCheck({ tail, judged }: Pick<GoalCheck, 'tail' | 'judged'>): string {
  const all = tail.split('\n').map((line) => line.trim())
  const lines = all.filter((line) => line !== '' && !isAround.test(line))
  if (judged === true) return lines[0] ?? ''
  const said = lines.findLast((line) => isSum.test(line)) ?? lines.at(-1)
  // Where it ran a program, a line "> test" shows which, and its error says no more than that this failed.
  return said ?? (all.some((line) => line.startsWith('> ')) ? '' : (all.find((line) => isItsError.test(line)) ?? ''))
}

// eslint-disable-next-line no-control-regex -- escape sequences of terminals are what is taken out
const escapes = /\u001B\[[\d;?]*[ -/]*[@-~]/g

/** Reports that differ in numbers, times, addresses or spaces alone are the same: test runners print how long they took. */
export function digestOfReport(name: string, report: string): number {
  const plain = report
    .replaceAll(escapes, '')
    .replaceAll(/0x[\da-f]+/gi, '#')
    .replaceAll(/\d+/g, '#')
    .replaceAll(/\s+/g, ' ')
    .trim()
  return hashText(plain, hashText(name))
}
