// Holds rules of docs/spec: R-TERM-61: whatever is typed, sent, queued, taken back and stopped, each text is in exactly one place: the conversation, the
// queue or the editor.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { readEntries, promptsIn } from '../../src/terminal/app/transcript-entries.ts'
import { key, type RunningApp, startApp } from './app-support.ts'

type Step = { readonly do: 'steer' | 'queue' } | { readonly do: 'take back' | 'stop' | 'clear' | 'wait' }

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Step>({ do: 'steer' }) },
  { weight: 4, arbitrary: fc.constant<Step>({ do: 'queue' }) },
  { weight: 2, arbitrary: fc.constant<Step>({ do: 'take back' }) },
  { weight: 2, arbitrary: fc.constant<Step>({ do: 'stop' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'wait' }) },
)

const word = (index: number): string => `word${index}x`

/** Presses the keys of the steps; returns the number of words typed. */
async function press({ type }: RunningApp, steps: readonly Step[]): Promise<number> {
  let words = 0
  for (const { do: what } of steps) {
    switch (what) {
      case 'steer':
        type(` ${word(words++)}`, key.enter)
        break
      case 'queue':
        type(` ${word(words++)}`, key.altEnter)
        break
      case 'take back':
        type(key.altUp)
        break
      case 'stop':
        type(key.escape)
        break
      case 'wait':
        await new Promise((resolve) => setTimeout(resolve, 15))
        break
      case 'clear':
        type(key.ctrl('c'))
    }
  }
  return words
}

const times = { all: 60, 1: 15 }[process.env['HALTING_DEEP'] ?? ''] ?? 12

test('no typed text is lost', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 14 }), async (steps) => {
      const bash = { type: 'tool_use', name: 'Bash', input: { command: 'sleep 0.03' } }
      const app = await startApp({
        rows: 60,
        replies: Array.from({ length: 80 }, (_, index) => ({
          content: index % 3 === 2 ? 'Said.' : ['Doing.', bash],
          delay_ms: 5,
        })),
      })
      const words = await press(app, steps)
      await app.settled()
      const { file, queue } = app.sessions[0]!.session.snapshot
      const storedPrompts = file === undefined || words === 0 ? [] : promptsIn(await readEntries(file).catch(() => []))
      const inConversation = storedPrompts.map(({ text }) => text).join('\n')
      const inEditor = editorText(app)
      expect(queue).toEqual([])
      const where = Array.from({ length: words }, (_, index) => {
        const count = (text: string): number => text.split(word(index)).length - 1
        return count(inConversation) + count(inEditor)
      })
      expect(where).toEqual(where.map(() => 1))
      app.app.leave(0)
      await app.app.ended
    }),
    { numRuns: times, ...(process.env['FC_SEED'] !== undefined && { seed: Number(process.env['FC_SEED']) }) },
  )
})

/** The text between the two borders of the editor. */
function editorText({ terminal }: RunningApp): string {
  const rows = terminal.rowsShown()
  const bottom = rows.findLastIndex((row) => row.startsWith('──'))
  const top = rows.slice(0, bottom).findLastIndex((row) => row.startsWith('──'))
  return rows.slice(top + 1, bottom).join('\n')
}
