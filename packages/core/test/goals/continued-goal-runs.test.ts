// Tests R-GOAL-72.
import { describe, expect, test } from 'vitest'
import { QueryEngine, type Goal } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { tool } from '../support/harness.ts'

const edit = tool('Edit', 'edited')
const edits = { toolCalls: [{ name: 'Edit', input: {} }] } as const

/** A goal that holds at these checks, counted from 1. */
function goal(holdsAt: (check: number) => boolean): Goal & { readonly checks: number } {
  let checks = 0
  return {
    name: 'npm test',
    get checks() {
      return checks
    },
    check() {
      checks += 1
      return holdsAt(checks) ? { met: true, exitCode: 0 } : { met: false, exitCode: 1, report: `${checks} failed` }
    },
  }
}

async function ended(messages: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of messages) {
    // Only the end of the run matters.
  }
}

describe('a run that ended unmet and is continued', () => {
  test('begins with the result of the check, in the words of the loop, and keeps its tries', async () => {
    const until = goal((check) => check === 3)
    const model = scriptedModel([edits, 'Done.', 'Which file?', edits, 'Done now.'])
    const engine = new QueryEngine({ model, until: [until], tools: [edit], unmetWithoutWork: 'end' })
    await ended(engine.submit('go'))
    expect([engine.lastTerminal?.reason, engine.lastTerminal?.signal.context['cause']]).toEqual(['goal_unmet', 'asks'])
    await ended(engine.resume())
    const lastMessage = model.requests[3]?.messages.at(-1)
    expect(JSON.stringify(lastMessage)).toContain('The goal is not met: `npm test` failed with exit code 1.')
    expect(JSON.stringify(lastMessage)).toContain('2 failed')
    const own = [...engine.transcript].filter((each) => each.kind === 'user' && each.origin === 'prompt')
    expect(own).toHaveLength(1)
    expect([engine.lastTerminal?.reason, engine.lastTerminal?.goal?.tries]).toEqual(['completed', 1])
  })

  test('is checked anew, since a person may have fixed the problem in between', async () => {
    const until = goal((check) => check === 2)
    const model = scriptedModel(['I cannot.', 'It is right now.'])
    const engine = new QueryEngine({ model, until: [until], unmetWithoutWork: 'end' })
    await ended(engine.submit('go'))
    expect([engine.lastTerminal?.reason, until.checks]).toEqual(['goal_unmet', 1])
    await ended(engine.resume())
    expect([engine.lastTerminal?.reason, engine.lastTerminal?.goal?.met, until.checks]).toEqual(['completed', true, 2])
  })

  test('continues with more tries from those already used', async () => {
    const until = goal(() => false)
    let callCount = 0
    const model = scriptedModel(() => (callCount++ % 2 === 0 ? edits : 'Done.'))
    const engine = new QueryEngine({ model, until: [until], tools: [edit], maxGoalTries: 2 })
    await ended(engine.submit('go'))
    expect(engine.lastTerminal?.goal?.tries).toBe(2)
    engine.set({ limits: { maxGoalTries: 5 } })
    await ended(engine.resume())
    expect([engine.lastTerminal?.reason, engine.lastTerminal?.goal?.tries]).toEqual(['goal_unmet', 5])
  })
})
