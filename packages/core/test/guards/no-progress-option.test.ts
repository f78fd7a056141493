// Tests R-GUARD-11, R-GUARD-11a: the option for runs that make no progress.
import { expect, test } from 'vitest'
import { noProgress, query, run as runPrompt, startRun, streamRun, type RunOptions } from '../../src/index.ts'
import { noProgressNudge } from '../../src/limits/guard-texts.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { reader } from '../support/harness.ts'

const tools = [reader('Look', () => 'the same')]

/** A model that makes the same call repeatedly, and answers after this many. */
const repeatingModel = (calls: number) =>
  scriptedModel((_request, index) => (index < calls ? { toolCalls: [{ name: 'Look', input: {} }] } : 'answer'))

type Start = (options: RunOptions) => Promise<string>

const viaRun: Start = async (options) => (await runPrompt({ ...options, prompt: 'go' })).reason
const viaStream: Start = async (options) => (await streamRun(startRun({ prompt: 'go' }), options).result).reason
const viaQuery: Start = async ({ steps: _, ...options }) => {
  let reason = ''
  for await (const message of query({ prompt: 'go', options }))
    if (message.type === 'result') reason = message.terminal_reason
  return reason
}

async function endOf(start: Start, options: Partial<RunOptions>, calls = 40) {
  const model = repeatingModel(calls)
  const reason = await start({ model, tools, ...options })
  const last = JSON.stringify(model.requests.at(-1)?.messages)
  return {
    reason,
    requests: model.requests.length,
    reminders: last.split(JSON.stringify(noProgressNudge).slice(1, -1)).length - 1,
  }
}

test.each<[string, Start]>([
  ['run', viaRun],
  ['query', viaQuery],
])('%s reminds once, and never stops the run', async (_name, start) => {
  expect(await endOf(start, {})).toEqual({ reason: 'completed', requests: 41, reminders: 1 })
  expect(await endOf(start, { noProgress: 'remind', maxTurns: 30 })).toMatchObject({
    reason: 'max_turns',
    reminders: 1,
  })
})

test.each<[string, Start]>([
  ['run', viaRun],
  ['query', viaQuery],
  ['streamRun', viaStream],
])('%s stops after the reminder on request, and does nothing with off', async (_name, start) => {
  expect(await endOf(start, { noProgress: 'stop' })).toEqual({ reason: 'no_progress', requests: 5, reminders: 1 })
  expect(await endOf(start, { noProgress: 'off' })).toEqual({ reason: 'completed', requests: 41, reminders: 0 })
})

test('streamRun does nothing by default', async () => {
  expect(await endOf(viaStream, {})).toEqual({ reason: 'completed', requests: 41, reminders: 0 })
})

test('a guard of the caller replaces it', async () => {
  const options = { stopWhen: noProgress({ repeats: 2 }), noProgress: 'remind' as const }
  expect(await endOf(viaRun, options)).toEqual({ reason: 'no_progress', requests: 3, reminders: 1 })
})

test('rejects an invalid policy', () => {
  const runOptions = { model: repeatingModel(0), noProgress: 'warn' }
  expect(() => Reflect.apply(streamRun, undefined, [startRun({ prompt: 'go' }), runOptions])).toThrow(
    'noProgress must be',
  )
})
