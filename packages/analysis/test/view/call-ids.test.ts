// A model chooses the ids of its calls. Whatever it chooses, no call hides another one or is shown under its name.
import type { ScriptedReply } from '@halting/core/testing'
import { expect, test } from 'vitest'
import { transcriptParts } from '../../src/view/parts.ts'
import { viewOf } from '../../src/view/view.ts'
import type { TranscriptPart } from '../../src/view/types.ts'
import { agentPathOf } from '../../src/view/agent-path.ts'
import { says, scriptedSession, scriptedWorld } from '../support/sessions.ts'

const calling = (...calls: readonly (readonly [id: string, name: string])[]): ScriptedReply => ({
  toolCalls: calls.map(([id, name]) => ({ id, name, input: { path: `${id}.ts` } })),
})

/** The messages of agents, by the call that started them. */
const agentMessages = (parts: readonly TranscriptPart[]): readonly unknown[] =>
  parts.flatMap((part) =>
    part.kind === 'call'
      ? [[part.callId, part.agent.flatMap((each) => (each.kind === 'answer' ? [each.text] : []))]]
      : [],
  )

test.each(['agent:2:0:y', 'tool:1:0:y', 'agent:1:0:c/tool:1:0:y', '../..', ''])(
  'the work of an agent is shown inside the call that started it, even if the id of this call is %j',
  async (id) => {
    const world = scriptedWorld()
    const script = [calling([id, 'Agent']), says(world, 'from within'), says(world, 'done')]
    const parts = transcriptParts(await scriptedSession(world, [script]), 0)
    expect(agentMessages(parts)).toEqual([[expect.any(String), ['from within']]])
  },
)

test('a path without a calling step resolves to a call of the main loop, or to nothing', () => {
  const own = { caller: '', request: 1, place: '1:0', callId: 'c/agent:2:0:y' }
  expect(agentPathOf('agent:1:0:c/agent:2:0:y/', () => false)).toEqual(own)
  for (const scope of ['/agent:1:0:x/', 'agent:1:0:x', '/', '', 'agent:x/'])
    expect([scope, agentPathOf(scope, () => false)]).toEqual([scope, undefined])
})

test('agents whose calls share a name in a path are shown once each', async () => {
  const world = scriptedWorld()
  const first = [calling(['a/b', 'Agent']), says(world, 'one'), calling(['a_b', 'Agent']), says(world, 'two')]
  const parts = transcriptParts(await scriptedSession(world, [[...first, says(world, 'done')]]), 0)
  expect(agentMessages(parts)).toEqual([
    ['a/b', ['one']],
    ['a_b', ['two']],
  ])
})

test('the bar of a call shows the input of that call', async () => {
  const world = scriptedWorld()
  const ids = [
    ['x', 'Look'],
    ['x/asked', 'Write'],
    ['x:kept', 'Fail'],
    ['x:updated', 'Find'],
  ] as const
  const session = await scriptedSession(world, [[calling(...ids), says(world, 'done')]])
  const [run] = viewOf(session).runs
  const tools = (run?.items ?? []).filter(({ kind }) => kind === 'tool')
  const parts = transcriptParts(session, 0)
  const shown = tools.map(({ label, part }) => [label, part === null ? undefined : parts[part]])
  expect(shown).toMatchObject(ids.map(([id, name]) => [`${name} ${id}.ts`, { kind: 'call', name, callId: id }]))
})
