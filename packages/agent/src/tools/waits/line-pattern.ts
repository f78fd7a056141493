import { spawn } from 'node:child_process'
import { headOf } from '@halting/core/adapters'
import { ripgrepPath } from '../ripgrep.ts'
import { patternProblems, ripgrepFailed } from './wait-texts.ts'

/** A regular expression that lines are held against, in time that is linear in their length. */
export interface LinePattern {
  /** The first line that matches, at most `longestLine` characters of it. */
  firstIn(text: string): Promise<string | undefined>
  /** How long it is waited between two looks at text that keeps coming, in milliseconds. */
  readonly everyMs: number
}

const longestLine = 2_000
const longestProblem = 500
/** No text that is handed over takes so long; a ripgrep that hangs is ended. */
const mostMs = 10_000

/** A pattern as Grep takes it, or in words what is wrong with it. */
export async function linePatternOf(pattern: string): Promise<LinePattern | { readonly problem: string }> {
  if (pattern.includes('\n')) return { problem: patternProblems.lineBreak }
  const words = plainWordsOf(pattern)
  if (words !== undefined) return { everyMs: 100, firstIn: (text) => Promise.resolve(firstWith(words, text)) }
  const program = await ripgrepPath()
  if (program === undefined) return { problem: patternProblems.noRipgrep }
  const nothing = await searchIn('', pattern, program)
  if (nothing.problem !== undefined) return { problem: nothing.problem }
  return { everyMs: 1_000, firstIn: async (text) => (await searchIn(text, pattern, program)).line }
}

/** Words of which one has to be in the line, where the pattern says no more: no program is needed for these. */
function plainWordsOf(pattern: string): readonly string[] | undefined {
  if (/[\\^$.?*+()[\]{}]/.test(pattern)) return undefined
  const words = pattern.split('|')
  return words.includes('') ? undefined : words
}

function firstWith(words: readonly string[], text: string): string | undefined {
  const found = text.split('\n').find((line) => words.some((word) => line.includes(word)))
  return found === undefined ? undefined : headOf(found, longestLine)
}

/** ripgrep matches in linear time, whatever the pattern. --no-config: a configuration file could make it run programs (--pre). */
const options = ['--no-config', '--color=never', '--no-filename', '--no-line-number', '--text', '--max-count=1']

function searchIn(
  text: string,
  pattern: string,
  program: string,
): Promise<{ readonly line?: string; readonly problem?: string }> {
  return new Promise((resolve) => {
    const child = spawn(program, [...options, '-e', pattern, '-'], { stdio: ['pipe', 'pipe', 'pipe'] })
    const timer = setTimeout(() => child.kill('SIGKILL'), mostMs)
    let [found, problems] = ['', '']
    child.stdout.on('data', (chunk: Buffer) => (found = headOf(found + chunk.toString(), longestLine)))
    child.stderr.on('data', (chunk: Buffer) => (problems = headOf(problems + chunk.toString(), 10 * longestProblem)))
    // It ends with the first line that matches, and reads no more.
    child.stdin.on('error', () => undefined)
    child.once('error', (error) => {
      clearTimeout(timer)
      resolve({ problem: ripgrepFailed(error.message) })
    })
    child.once('close', (exitCode) => {
      clearTimeout(timer)
      if (exitCode === 0) resolve({ line: found.replace(/\r?\n$/, '') })
      else if (exitCode === 1) resolve({})
      else resolve({ problem: problemIn(problems) })
    })
    child.stdin.end(text)
  })
}

/** ripgrep draws the place of an error above it. */
function problemIn(problems: string): string {
  const [, error] = /^error: (.+)$/m.exec(problems) ?? []
  return headOf(error ?? (problems.replace(/^rg: /, '').trim() || patternProblems.tooSlow), longestProblem)
}

const mostWaiting = 8 * 1024 * 1024
const longestOpenLine = 64 * 1024

/** Text that comes piece by piece, of which a line is looked for. What comes in haste is looked at together. */
export class LineSearch {
  readonly #pattern: LinePattern
  readonly #redact: (text: string) => string
  readonly #onLine: (line: string) => void
  /** Not looked at yet, behind the beginning of the line in which it begins. */
  #waiting = ''
  #openLine = ''
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined
  #isOver = false

  /** What is looked for, is looked for in what `redact` leaves: as it is shown. */
  constructor(pattern: LinePattern, redact: ((text: string) => string) | undefined, onLine: (line: string) => void) {
    this.#pattern = pattern
    this.#redact = redact ?? ((text) => text)
    this.#onLine = onLine
  }

  add(text: string): void {
    if (this.#isOver || text === '') return
    // Of what nobody can look at as fast as it comes the newest counts.
    this.#waiting = (this.#waiting + text).slice(-mostWaiting)
    this.#timer ??= setTimeout(() => void this.#look(), this.#looking === undefined ? 20 : this.#pattern.everyMs)
  }

  /** Looks at what is left, when no more comes. */
  async flush(): Promise<void> {
    await this.#looking
    await this.#look()
  }

  stop(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
  }

  #look(): Promise<void> {
    this.#looking = this.#lookAt(this.#looking)
    return this.#looking
  }

  async #lookAt(before: Promise<void> | undefined): Promise<void> {
    await before
    clearTimeout(this.#timer)
    this.#timer = undefined
    const text = this.#openLine + this.#waiting
    this.#waiting = ''
    if (this.#isOver || text === '') return
    // The last line may go on: it is looked at as it is, and again with what follows.
    this.#openLine = text.slice(text.lastIndexOf('\n') + 1).slice(-longestOpenLine)
    const line = await this.#pattern.firstIn(this.#redact(text))
    if (line === undefined || this.#isOver) return
    this.stop()
    this.#onLine(line)
  }
}
