// Tests R-TOOL-20, R-TOOL-20a: a call by an alias runs the target tool, and only the transcript shows the alias.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { resume, type RunOptions, type Permissions } from '../../src/index.ts'
import { calls, hook, json, reader, resultTexts, run, tool } from '../support/harness.ts'
import { killedAfter } from '../support/kill-process.ts'
import { scriptedModel, createFakeClock } from '../../src/testing/index.ts'

const names = ['A', 'B', 'C', 'D'] as const
const name = fc.constantFrom(...names)

const aliasCases = fc.record({
  toolAliases: fc.dictionary(name, name),
  toolNames: fc.uniqueArray(name, { minLength: 1 }),
  denied: fc.uniqueArray(name),
  written: fc.array(name, { minLength: 1, maxLength: 4 }),
  isReading: fc.boolean(),
})

test('runs the target of any alias in one step, unless it is denied; the transcript keeps what the model wrote', async () => {
  await fc.assert(
    fc.asyncProperty(aliasCases, async ({ toolAliases, toolNames, denied, written, isReading }) => {
      const ran: string[] = []
      const judged: (readonly [called: string, written: string])[] = []
      const hooked: string[] = []
      const permissions: Permissions = {
        denies({ call, tool: { name: ofTool }, written: as = call.name }) {
          judged.push([call.name, as])
          expect(ofTool).toBe(call.name)
          return denied.some((each) => each === call.name) ? 'denied' : undefined
        },
        decide: () => ({ behavior: 'allow' }),
      }
      const ended = await run([calls(...written), 'done'], {
        tools: toolNames.map((each) => tool(each, () => (ran.push(each), each), { readOnly: isReading })),
        toolAliases,
        permissions,
        hooks: [hook('afterToolUse', ({ toolCall }) => void hooked.push(toolCall?.name ?? ''))],
      })
      const lead = written.map((each) => toolAliases[each] ?? each)
      const existing = lead.filter((each) => toolNames.includes(each))
      const running = existing.filter((each) => !denied.includes(each))
      expect([ran, hooked]).toEqual([running, running])
      expect(new Set(judged.map((pair) => pair.join()))).toEqual(
        new Set(written.flatMap((each, at) => (toolNames.includes(lead[at] ?? 'A') ? [`${lead[at]},${each}`] : []))),
      )
      const missing = /^There is no tool named "(.)"/
      const texts = resultTexts(ended).map((text) => missing.exec(String(text))?.[1]?.toLowerCase() ?? text)
      expect(texts).toEqual(
        lead.map((each) => (toolNames.includes(each) ? (denied.includes(each) ? 'denied' : each) : each.toLowerCase())),
      )
      const [, reply] = ended.messages
      expect(json(reply?.content ?? [])).toMatchObject(written.map((each) => ({ type: 'tool_use', name: each })))
    }),
    { numRuns: 60 },
  )
})

test('a resume after every record has the same result, also when the aliases are gone by then', async () => {
  const options = (toolAliases: NonNullable<RunOptions['toolAliases']>) => ({
    model: scriptedModel(({ messages }) => (messages.length === 1 ? calls({ name: 'Bash', id: 'c' }) : 'done')),
    clock: createFakeClock({ autoAdvance: true }),
    tools: [reader('Own', 'own'), reader('Bash', 'theirs')],
    toolAliases,
  })
  const completeRun = await run([], options({ Bash: 'Own' }))
  expect(resultTexts(completeRun)).toEqual(['own'])
  const texts = ({ state }: Pick<typeof completeRun, 'state'>) =>
    state.transcript.messages().map(({ content }) => JSON.stringify(content))
  const asked = completeRun.steps.records.findIndex(
    (record) => record.type === 'result' && record.key.includes('tool:'),
  )
  for (let count = 1; count < completeRun.steps.records.length; count++) {
    const records = await killedAfter(count, options({ Bash: 'Own' }))
    const same = await resume(records, options({ Bash: 'Own' })).loop.ended
    expect(texts(same)).toEqual(texts(completeRun))
    if (count <= asked) continue
    const withoutAliases = await resume(records, options({})).loop.ended
    expect(texts(withoutAliases)).toEqual(texts(completeRun))
  }
})
