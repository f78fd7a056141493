import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { call, here } from './program.ts'

// Sessions that fill a window of 32,000 tokens, so that each layer has work.

const file = 'settings.ts'
const part = (offset: number, limit: number) => call('Read', { file_path: file, offset, limit })

const times = <T>(count: number, make: (number: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, index) => make(index + 1))
/** One part of the file, of about 2,200 tokens. */
const read = (number: number) => ({ content: [`Part ${number}.`, part((number - 1) * 120 + 1, 120)] })
/** A text of about 1,000 tokens, which pruning of results does not remove. */
const think = (number: number) => ({
  content: [`Thought ${number}: ${'this value is read again in another place. '.repeat(90)}`, part(number, 1)],
})
/** More than what is left of the window, at once. */
const readAll = { content: ['All at once.', ...times(8, (number) => part((number - 1) * 150 + 1, 150))] }
const refusal = { error: { status: 413, message: 'Request exceeds the maximum size' } }
const done = { content: 'All settings are in order.' }
/** For requests outside of turns. */
const summaries = [
  { when: 'is about to be replaced by a summary', repeat: 9, content: '## Task\nLook at every setting.' },
  { when: 'Summarize the work above', repeat: 30, content: 'The settings so far are in order.' },
]

const sessions = {
  /** Prunes results, collapses finished work, compacts; then two refusals: what is staged, and a compaction after it. */
  everyLayer: [...times(7, read), ...times(18, think), readAll, ...times(15, think), refusal, refusal, done],
  /** Fills the context window again at once. */
  thrash: times(9, () => readAll),
  /** Nothing that frees space is on. */
  blocking: times(40, think),
  refused: [read(1), refusal],
} as const

/** Writes the file and the script of a session into the program's folder, and returns the arguments that run it. */
export function fullWindow(session: keyof typeof sessions, ...flags: readonly string[]): readonly string[] {
  const lines = times(1_200, (number) => `export const setting${number} = 'value number ${number} of the settings'\n`)
  writeFileSync(join(here(), file), lines.join(''))
  const script = join(here(), `${session}.json`)
  writeFileSync(script, JSON.stringify({ model: 'claude-haiku-4-5', replies: [...sessions[session], ...summaries] }))
  const prompt = 'Look at every setting in settings.ts.'
  return ['-p', prompt, '--script', script, '--tools', 'Read', '--context-window', '32k', ...flags]
}
