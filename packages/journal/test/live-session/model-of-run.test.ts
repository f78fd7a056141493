// Holds R-LIVE-12 of docs/spec: a prompt may name a model, which is that of the run that begins with it.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openJournal } from '../../src/open-journal.ts'
import { agentTool, allowAll, tool } from '@halting/core'
import { scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { expect, onTestFinished, test } from 'vitest'
import { eventLinesWithoutMessages, looks, sessionOf } from '../../../core/test/live-session/support.ts'

const look = tool({ name: 'Look', description: '', readOnly: true, execute: () => 'seen' })
const small = (replies: readonly ScriptedReply[]) => scriptedModel(replies, { id: 'small' })

test('the model that a prompt names applies only to its run, and is shown while this run is active', async () => {
  const model = scriptedModel(['Second.'])
  const other = small([looks, 'First.'])
  const { session, events } = sessionOf([], { model, models: [other], tools: [look] })
  const shown: string[] = []
  session.listen((event) => {
    if (event.type === 'loop' && event.event.type === 'model_start') shown.push(session.snapshot.model)
    if (event.type !== 'message' || event.message.type !== 'system') return
    if (event.message.subtype === 'init') shown.push(event.message.model)
  })
  session.prompt('go', { model: 'small' })
  await session.settled()
  expect(session.snapshot.model).toBe('scripted')
  session.prompt('and then')
  await session.settled()
  expect([model.requests.length, other.requests.length]).toEqual([1, 2])
  expect(shown).toEqual(['small', 'small', 'small', 'scripted', 'scripted'])
  expect(eventLinesWithoutMessages(events)).toContain('run_end completed')
})

test('it is in the run from the start, and what a person sets in mid-run goes before it', async () => {
  const model = scriptedModel(['Done.', 'Again.'])
  const other = small([looks])
  const { session } = sessionOf([], { model, models: [other], tools: [look] })
  const stop = session.listen((event) => {
    if (event.type !== 'loop' || event.event.type !== 'tool_start') return
    session.set({ model: 'scripted' })
    expect(session.snapshot.model).toBe('scripted')
    stop()
  })
  session.prompt('go', { model: 'small' })
  await session.settled()
  session.prompt('and then')
  await session.settled()
  expect([model.requests.length, other.requests.length]).toEqual([2, 1])
})

test('a message that a run takes in is for the model of that run, and a note reports it', async () => {
  const model = scriptedModel([looks, 'One.', 'Two.'])
  const other = small(['Three.'])
  const { session, events } = sessionOf([], { model, models: [other], tools: [look] })
  const stop = session.listen((event) => {
    if (event.type !== 'loop' || event.event.type !== 'tool_start') return
    session.prompt('this too', { id: 'steered', model: 'small' })
    expect(session.snapshot.queue).toEqual([{ id: 'steered', content: 'this too', when: 'next', model: 'small' }])
    stop()
  })
  session.prompt('go')
  await session.settled()
  expect([model.requests.length, other.requests.length]).toEqual([2, 0])
  expect(events.flatMap((event) => (event.type === 'note' ? [event.text] : []))).toEqual([
    'small is not used: the current run took the message.',
  ])
})

test('a queued message that starts a separate run uses the model that it names', async () => {
  const model = scriptedModel([{ hang: true }])
  const other = small(['Two.', 'Three.'])
  const { session, events } = sessionOf([], { model, models: [other] })
  const stop = session.listen((event) => {
    if (event.type !== 'loop' || event.event.type !== 'model_start') return
    stop()
    session.prompt('now', { id: 'now', model: 'small', when: 'now' })
    session.prompt('later', { id: 'later', model: 'small', when: 'later' })
    session.prompt('later', { id: 'later', model: 'small', when: 'later' })
  })
  session.prompt('go', { id: 'first' })
  await session.settled()
  expect([model.requests.length, other.requests.length]).toEqual([1, 2])
  expect(eventLinesWithoutMessages(events).filter((line) => line.startsWith('run_start run'))).toHaveLength(2)
})

test('a model that there is not breaks nothing: the message comes back', async () => {
  const { session, events } = sessionOf(['Hello.'])
  session.prompt('go', { id: 'first', model: 'nowhere' })
  await session.settled()
  expect(events.flatMap((event) => (event.type === 'failed' ? event.givenBack : []))).toMatchObject([{ id: 'first' }])
  session.prompt('go', { id: 'again' })
  await session.settled()
  expect(eventLinesWithoutMessages(events)).toEqual(['failed', 'run_start run1 again', 'run_end completed'])
})

test('a model with which a dollar budget cannot be enforced is refused', async () => {
  const prices = {
    cost: () => 0.01,
    worstCase: (id: string) => {
      if (id === 'small') throw new Error('It has no price.')
      return 0.01
    },
  }
  const { session, events } = sessionOf(['x'], { models: [small(['y'])], prices, maxBudgetUsd: 1 })
  session.prompt('go', { model: 'small' })
  await session.settled()
  expect(eventLinesWithoutMessages(events)).toEqual(['failed'])
})

test('subagents have it as well', async () => {
  const model = scriptedModel([])
  const other = small([{ toolCalls: [{ name: 'Agent', input: {} }] }, 'From below.', 'Done.'])
  const agent = agentTool({ name: 'Agent', description: '', spawn: () => ({ prompt: 'Look.' }) })
  const { session } = sessionOf([], { model, models: [other], tools: [agent], permissions: allowAll })
  session.prompt('go', { model: 'small' })
  await session.settled()
  expect([model.requests.length, other.requests.length]).toEqual([0, 3])
})

test('after a crash the run continues with the model of its prompt, and the session with its own model', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'halting-model-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 's.jsonl')
  const open = () => openJournal({ path, sessionId: 's', cwd: folder, version: '1' })
  const journal = await open()
  const before = sessionOf(
    [],
    { sessionId: 's', models: [small([looks, { hang: true, deaf: true }])], tools: [look] },
    { journal },
  )
  const hangs = new Promise<void>((resolve) => {
    let asked = 0
    before.session.listen((event) => {
      if (event.type === 'loop' && event.event.type === 'model_start' && ++asked === 2) resolve()
    })
  })
  before.session.prompt('go', { model: 'small' })
  await hangs
  await journal.close()

  const again = await open()
  const model = scriptedModel(['Mine.'])
  const other = small(['Gone on.'])
  const { session } = sessionOf([], { sessionId: 's', model, models: [other], tools: [look] }, { journal: again })
  session.resume()
  await session.settled()
  expect([model.requests.length, other.requests.length]).toEqual([0, 1])
  session.prompt('and then')
  await session.settled()
  expect([model.requests.length, other.requests.length]).toEqual([1, 1])
  await session.close()
  await again.close()
})
