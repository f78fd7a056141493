import { spawn } from 'node:child_process'
import { headOf } from '@halting/core/adapters'
import { ripgrepPath } from '../ripgrep.ts'
import { patternProblems, ripgrepFailed } from './wait-texts.ts'

/** A regular expression for lines, evaluated in linear time. */
export interface LinePattern {
  /** Returns the first matching line, at most `longestLine` characters of it. */
  firstIn(text: string): Promise<string | undefined>
  /** Minimum time in milliseconds between two searches of streamed text. */
  readonly everyMs: number
}

const longestLine = 2_000
const longestProblem = 500
/** Time limit of a search, which no normal search reaches; a ripgrep that hangs is killed. */
const maxMs = 10_000

/** Compiles a pattern as in Grep, or returns what is wrong with it. */
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

/**
 * Returns words of which one must be in the line, if the pattern expresses only that: such a pattern needs no program.
 */
function plainWordsOf(pattern: string): readonly string[] | undefined {
  if (/[\\^$.?*+()[\]{}]/.test(pattern)) return undefined
  const words = pattern.split('|')
  return words.includes('') ? undefined : words
}

function firstWith(words: readonly string[], text: string): string | undefined {
  const found = text.split('\n').find((line) => words.some((word) => line.includes(word)))
  return found === undefined ? undefined : headOf(found, longestLine)
}

/** ripgrep matches any pattern in linear time. --no-config: a configuration file could make it run programs (--pre). */
const options = ['--no-config', '--color=never', '--no-filename', '--no-line-number', '--text', '--max-count=1']

function searchIn(
  text: string,
  pattern: string,
  program: string,
): Promise<{ readonly line?: string; readonly problem?: string }> {
  return new Promise((resolve) => {
    const child = spawn(program, [...options, '-e', pattern, '-'], { stdio: ['pipe', 'pipe', 'pipe'] })
    const timer = setTimeout(() => child.kill('SIGKILL'), maxMs)
    let [found, problems] = ['', '']
    child.stdout.on('data', (chunk: Buffer) => (found = headOf(found + chunk.toString(), longestLine)))
    child.stderr.on('data', (chunk: Buffer) => (problems = headOf(problems + chunk.toString(), 10 * longestProblem)))
    // ripgrep ends at the first matching line and reads no further.
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

/** Returns ripgrep's message about an invalid pattern. ripgrep marks the position of an error above its message. */
function problemIn(problems: string): string {
  const [, error] = /^error: (.+)$/m.exec(problems) ?? []
  return headOf(error ?? (problems.replace(/^rg: /, '').trim() || patternProblems.tooSlow), longestProblem)
}

const maxWaiting = 8 * 1024 * 1024
const longestOpenLine = 64 * 1024

/** Searches streamed text for a line. Text that arrives quickly is searched in batches. */
export class LineSearch {
  readonly #pattern: LinePattern
  readonly #redact: (text: string) => string
  readonly #onLine: (line: string) => void
  /** Text that was not searched yet, preceded by the beginning of its first line. */
  #waiting = ''
  #openLine = ''
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined
  #isOver = false

  /** Searches the text as `redact` leaves it, and as it is shown. */
  constructor(pattern: LinePattern, redact: ((text: string) => string) | undefined, onLine: (line: string) => void) {
    this.#pattern = pattern
    this.#redact = redact ?? ((text) => text)
    this.#onLine = onLine
  }

  add(text: string): void {
    if (this.#isOver || text === '') return
    // If text arrives faster than it can be searched, the newest part is searched.
    this.#waiting = (this.#waiting + text).slice(-maxWaiting)
    this.#timer ??= setTimeout(() => void this.#look(), this.#looking === undefined ? 20 : this.#pattern.everyMs)
  }

  /** Searches the rest, when no more text arrives. */
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
    // The last line may continue: it is searched now, and again with the text that follows.
    this.#openLine = text.slice(text.lastIndexOf('\n') + 1).slice(-longestOpenLine)
    const line = await this.#pattern.firstIn(this.#redact(text))
    if (line === undefined || this.#isOver) return
    this.stop()
    this.#onLine(line)
  }
}
