// Tests R-GOAL-14b.
import { expect, test } from 'vitest'
import { QueryEngine, type Goal, type GoalFiles } from '../../src/index.ts'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import { calls, tool } from '../support/harness.ts'

interface Folder {
  text: string
  readonly files: GoalFiles
}

/** A folder with one protected file; the memo is its text. */
function folder(): Folder {
  const folderParts: Folder = {
    text: 'exit 0',
    files: {
      begin: (memo) => {
        const against = typeof memo === 'string' ? memo : folderParts.text
        return {
          tampered: folderParts.text === against ? [] : ['check.sh'],
          end: () => ({ memo: against, changedByChecks: [], changedTests: [] }),
        }
      },
    },
  }
  return folderParts
}

async function prompts(
  place: Folder,
  { first, between }: { readonly first: () => void; readonly between: () => void },
) {
  const goal: Goal = { name: './check.sh', check: () => ({ met: place.text !== 'fails' }) }
  const edit = tool('Edit', () => (first(), 'edited'))
  const entryTexts: unknown[] = []
  const engine = new QueryEngine({
    model: scriptedModel([calls('Edit'), 'Done.', 'Again.', 'Again.', 'Again.', 'Again.']),
    clock: createFakeClock({ autoAdvance: true }),
    tools: [edit],
    until: [goal],
    maxGoalTries: 1,
    goalFiles: place.files,
    onEvent: (event) => void (event.type === 'message' && entryTexts.push(JSON.stringify(event.entry))),
  })
  for await (const _ of engine.submit('one'));
  between()
  for await (const _ of engine.submit('two'));
  return { reason: engine.lastTerminal?.reason, goal: engine.lastTerminal?.goal, entryTexts: entryTexts.join('\n') }
}

test('attributes changes between two prompts to the person, and reports them', async () => {
  const place = folder()
  const { reason, goal, entryTexts } = await prompts(place, {
    first: () => {},
    between: () => (place.text = 'exit 0 # mine'),
  })
  expect([reason, goal?.tampered]).toEqual(['completed', []])
  expect(entryTexts).toContain('the new versions apply: check.sh')
})

test('does not accept a change of the agent because of a further prompt', async () => {
  const place = folder()
  const { reason, goal, entryTexts } = await prompts(place, { first: () => (place.text = 'true'), between: () => {} })
  expect([reason, goal?.tampered]).toEqual(['goal_unmet', ['check.sh']])
  expect(entryTexts).not.toContain('the new versions apply')
})

test('nor a change after a run that ended with unfinished checks', async () => {
  const place = folder()
  const goal: Goal = { name: './check.sh', check: () => ({ met: true }) }
  let isAborted = false
  const engine: QueryEngine = new QueryEngine({
    model: scriptedModel([calls('Edit'), 'Again.', 'Again.', 'Again.']),
    clock: createFakeClock({ autoAdvance: true }),
    tools: [
      tool('Edit', () => {
        if (!isAborted) engine.interrupt()
        isAborted = true
        return 'edited'
      }),
    ],
    until: [goal],
    maxGoalTries: 1,
    goalFiles: place.files,
  })
  for await (const _ of engine.submit('one'));
  place.text = 'true'
  for await (const _ of engine.submit('two'));
  expect([engine.lastTerminal?.reason, engine.lastTerminal?.goal?.tampered]).toEqual(['goal_unmet', ['check.sh']])
})
