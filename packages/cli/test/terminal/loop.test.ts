// A loop in the interactive program. Holds rules of docs/spec: R-EVERY-15 to R-EVERY-18.
import { expect, test } from 'vitest'
import { key, startApp } from './app-support.ts'

const answers = (count: number): readonly unknown[] =>
  Array.from({ length: count }, (_, index) => ({ content: `Answer ${index + 1}.` }))
const wide = { columns: 160, rows: 50 }

test('/loop repeats a prompt, takes messages in between, and ends after its rounds', async () => {
  const { terminal, say, settled } = await startApp({ ...wide, replies: answers(4) })
  say('/loop 1h x2 Check.')
  await terminal.waitFor('loop: round 2 of 2 in 59:5')
  say('And you?')
  await terminal.waitFor('Answer 2.')
  await settled()
  expect(terminal.shown()).toContain('loop: round 2 of 2 in 59:')
  say('/loop 0 x2 Again.')
  await terminal.waitFor('loop: 2 of 2 rounds done · 2 rounds')
  await settled()
  const all = terminal.all().join('\n')
  expect(all).toContain('Every 1 h, 2 rounds: Check. · Esc pauses it · /loop off ends it')
  expect(all).toMatch(/round 1 of 2 · completed · \$0\.0000 · next at (?:[\d-]+ )?\d\d:\d\d/)
  expect([...all.matchAll(/Answer \d\./g)]).toHaveLength(4)
  say('/loop')
  await terminal.waitFor('There is no loop.')
})

test('rejects a loop without a bound, and accepts a budget or a goal of the session', async () => {
  const { terminal, say } = await startApp({ ...wide, replies: answers(1) })
  say('/loop 10m Check.')
  await terminal.waitFor('A loop needs a bound: rounds (/loop 10m x5 PROMPT)')
  say('/loop check the build')
  await terminal.waitFor('Give the interval first.')
  say('/until test -e never')
  await terminal.waitFor('An answer is accepted when')
  say('/loop 10m Check.')
  await terminal.waitFor('Every 10 min: Check.')
  say('/loop off')
  await terminal.waitFor('The loop is ended.')
  say('/loop off')
  await terminal.waitFor('There is no loop.')
  expect(terminal.all().filter((line) => line.includes('A loop needs a bound'))).toHaveLength(1)
})

test('Esc pauses the loop during and between rounds, and /loop on continues it', async () => {
  const sleep = { content: ['I wait.', { type: 'tool_use', name: 'Bash', input: { command: 'sleep 300' } }] }
  const flags = { permissionMode: 'bypassPermissions' } as const
  const { terminal, say, type } = await startApp({ ...wide, flags, replies: [sleep, ...answers(4)] })
  say('/loop 0 x3 Check.')
  await terminal.waitFor('I wait.')
  type(key.escape)
  await terminal.waitFor('The loop is paused. /loop on continues it')
  await terminal.waitFor('loop: paused after round 1 of 3, /loop on continues it')
  say('/loop on')
  await terminal.waitFor('loop: 3 of 3 rounds done')
  say('/loop 1h x3 Check.')
  await terminal.waitFor('loop: round 2 of 3 in 59:5')
  type(key.escape)
  await terminal.waitFor('loop: paused after round 1 of 3')
  expect(terminal.all().filter((line) => line.includes('The loop is paused.'))).toHaveLength(2)
})

test('a resumed session offers its loop, which continues with the next round', async () => {
  const first = await startApp({ ...wide, replies: answers(1) })
  first.say('/loop 1h x3 Check.')
  await first.terminal.waitFor('loop: round 2 of 3 in 59:5')
  await first.settled()
  first.app.leave(0)
  await first.app.ended
  const again = await startApp({ ...wide, again: first, flags: { continue: true }, replies: answers(1) })
  await again.terminal.waitFor('This session has a loop. Every 1 h, 3 rounds: Check. · /loop on continues it')
  again.say('/loop on')
  await again.terminal.waitFor('loop: round 2 of 3 in 59:')
  expect(again.terminal.all().join('\n')).not.toContain('round 1 of 3 ·')
})
