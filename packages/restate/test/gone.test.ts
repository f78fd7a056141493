// Holds rules of docs/spec: R-STEP-13b: everything that a process does for a lost session ends, whatever it waits for, and its tools are aborted.
import { createSession, type Session } from '@halting/core/session'
import { scriptedModel } from '@halting/core/testing'
import type { AnyTool } from '@halting/core'
import { expect, test } from 'vitest'
import { attempt } from '../src/engine/attempt.ts'
import { ClusterSession } from '../src/service/cluster-session.ts'
import { FakeInvocation } from './support/fake-engine.ts'

async function turns(count: number): Promise<'late'> {
  for (let left = count; left > 0; left--) await new Promise(setImmediate)
  return 'late'
}

/** A session of three turns whose calls run until they are aborted or released. */
function openOn(invocation: FakeInvocation, going: Set<string>): Promise<Session> {
  return new Promise((resolve) => {
    void attempt({
      engine: invocation.attempt(),
      begin({ records, log }) {
        const look: AnyTool = {
          name: 'Look',
          description: 'Takes a while.',
          inputSchema: { type: 'object' },
          readOnly: false,
          async execute(_input, { callId, signal }) {
            going.add(callId)
            await Promise.race([turns(8), new Promise((aborted) => signal.addEventListener('abort', aborted))])
            going.delete(callId)
            return 'seen'
          },
        }
        const session = createSession({
          options: {
            model: scriptedModel(({ messages }) =>
              messages.length < 6 ? { toolCalls: [{ name: 'Look', id: `l${messages.length}` }] } : 'done',
            ),
            tools: [look],
            sessionId: 'one',
          },
          journal: new ClusterSession({ sessionId: 'one', path: 'one', records, log }),
          answersQuestions: false,
          permissions: { mode: 'default' },
          cwd: '/',
          end: async () => {},
        })
        resolve(session)
        return { deliver() {}, cancel() {}, run: () => session.settled() }
      },
    })
  })
}

test('a session that is lost at any time is closed completely', async () => {
  const stuck: number[] = []
  for (let after = 0; after < 60; after++) {
    const invocation = new FakeInvocation()
    const going = new Set<string>()
    const session = await openOn(invocation, going)
    session.prompt('go')
    await turns(after)
    // The engine continues it elsewhere.
    invocation.attempt()
    const closed = await Promise.race([session.close(), turns(200)])
    if (closed === 'late' || going.size > 0) stuck.push(after)
  }
  expect(stuck).toEqual([])
})
