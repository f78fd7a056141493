// Holds rules of docs/spec: R-HOST-10b, R-ASK-8a: what a tool that answers for a person says.
import { expect, test } from 'vitest'
import { answerByTool } from '../../src/open-session/permission-tool.ts'

const about = { signal: new AbortController().signal, toolUseID: 'a', suggestions: [], decisionReason: 'why' }
const said = async (text: string): Promise<unknown> =>
  answerByTool('mcp__auth__ask', async () => text)('Bash', {}, about)

test.each([
  ['{"behavior":"allow","updatedInput":{"command":"ls"}}', { behavior: 'allow', updatedInput: { command: 'ls' } }],
  ['{"behavior":"deny","message":"no"}', { behavior: 'deny', message: 'no' }],
])('accepts a valid answer: %s', async (text, answer) => {
  expect(await said(text)).toEqual(answer)
})

test.each([
  'true',
  '"allow"',
  'allow',
  '',
  '{"approved":true}',
  '{"behavior":"approve"}',
  '{"behavior":"allow","input":{}}',
])('any other text is an error that names the tool: %j', async (text) => {
  expect(await said(text)).toMatchObject({
    behavior: 'deny',
    isInvalid: true,
    message: expect.stringMatching(/^mcp__auth__ask: An answer is \{ behavior: 'allow'/),
  })
})

test('a failing tool denies', async () => {
  const failing = answerByTool('mcp__auth__ask', () => Promise.reject(new Error('gone')))
  expect(await failing('Bash', {}, about)).toEqual({ behavior: 'deny', message: 'mcp__auth__ask did not answer: gone' })
})
