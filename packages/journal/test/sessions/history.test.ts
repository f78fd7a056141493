// A run that started from a history: its journal has everything that a resume and a reader need.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { QueryEngine, streamRun, tool } from '@halting/core'
import { recordedResult } from '@halting/core/steps'
import { scriptedModel } from '@halting/core/testing'
import { openJournal, readJournal } from '@halting/journal'
import { afterAll, expect, test } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'halting-history-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const messages = [
  { role: 'user', content: 'My name is Ada.' },
  { role: 'assistant', content: 'Hello Ada.' },
] as const
const look = tool({ name: 'Look', description: '', readOnly: true, execute: () => 'a door' })

test('resumes a run over a history from its journal', async () => {
  const place = { path: join(folder, 'a.jsonl'), sessionId: 'a', cwd: folder, version: '1.0.0' }
  const first = await openJournal(place)
  const calls = { toolCalls: [{ name: 'Look', id: 'c1' }] }
  const stream = streamRun({
    model: scriptedModel([calls, 'A door.']),
    tools: [look],
    messages,
    prompt: 'What is there?',
    steps: first.steps(),
    maxTurns: 1,
  })
  expect((await stream.result).reason).toBe('max_turns')
  await first.close()

  const second = await openJournal(place)
  const model = scriptedModel(['A door, Ada.'])
  const engine = new QueryEngine({ model, tools: [look], session: second, maxTurns: 5 })
  const results: unknown[] = []
  for await (const message of engine.resume())
    if (message.type === 'result') results.push(message.subtype === 'success' && message.result)
  await second.close()
  expect(results).toEqual(['A door, Ada.'])
  expect(
    model.requests[0]?.messages.map(({ content }) => (typeof content === 'string' ? content : content[0]?.type)),
  ).toEqual(['My name is Ada.', 'text', 'What is there?', 'tool_use', 'tool_result'])

  // Replies in the history are not replies of the run.
  const { runs } = await readJournal(place.path)
  const [ofFirst, ofSecond] = [recordedResult('a', runs.slice(0, 1)), recordedResult('a', runs)]
  expect(ofFirst).toMatchObject({ subtype: 'error_max_turns' })
  expect(ofFirst).not.toHaveProperty('last_answer')
  expect(ofSecond).toMatchObject({ subtype: 'success', result: 'A door, Ada.' })
})
