// Holds rules of docs/spec: R-ACP-7b, R-ACP-12: clients that send invalid answers.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cannotAsk, userDidNotAnswer } from '@halting/core/adapters'
import { describe, expect, test } from 'vitest'
import { type ScriptedReply, scriptedModel } from '@halting/core/testing'
import { callProblems } from '../support/acp-schema.ts'
import { startAgent } from '../support/acp-agent.ts'

const write: ScriptedReply = { toolCalls: [{ name: 'Write', input: { file_path: 'a.txt', content: 'new\n' } }] }
const selected = (optionId: unknown): object => ({ outcome: { outcome: 'selected', optionId } })
const questions = [{ question: 'Which?', options: [{ label: 'Red' }, { label: 'Blue' }] }]
const ask: ScriptedReply = { toolCalls: [{ name: 'AskUserQuestion', input: { questions } }] }

/** Invalid answers of a client to a question. */
const noAnswers: readonly (readonly [what: string, answer: unknown])[] = [
  ['nothing', null],
  ['a number', 7],
  ['a list', []],
  ['an object without an outcome', {}],
  ['an outcome that is nothing', { outcome: null }],
  ['an outcome that is a text', { outcome: 'selected' }],
  ['an outcome that nobody knows', { outcome: { outcome: 'maybe' } }],
  ['an option without a name', selected(undefined)],
  ['a list of options', selected(['allow_once'])],
  ['an option that was not offered', selected('allow_everything')],
  ['an option of another question', selected('allow_always:7')],
  ['five megabytes', selected('x'.repeat(5_000_000))],
]

describe('a client that answers a question with', () => {
  test.each(noAnswers)('%s allows nothing, and the run continues', async (_what, answer) => {
    const model = scriptedModel([write, 'Done.'])
    const { cwd, newSession, prompt, updates } = await startAgent({ model, permission: () => answer as never })
    const { sessionId } = await newSession()
    expect(await prompt(sessionId, 'go')).toMatchObject({ stopReason: 'end_turn' })
    expect(existsSync(join(cwd, 'a.txt'))).toBe(false)
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain(
      cannotAsk('the editor gave no answer to the question'),
    )
    expect(callProblems(updates())).toEqual([])
  })

  test.each(noAnswers)('%s does not count as an answer to the model', async (_what, answer) => {
    const model = scriptedModel([ask, 'Done.'])
    const { newSession, prompt } = await startAgent({ model, permission: () => answer as never })
    const { sessionId } = await newSession()
    expect(await prompt(sessionId, 'go')).toMatchObject({ stopReason: 'end_turn' })
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('the editor gave no answer to the question')
  })
})

test.each<readonly [what: string, answer: unknown, report: string]>([
  ['nothing', null, userDidNotAnswer],
  ['a word that nobody knows', { action: 'maybe' }, userDidNotAnswer],
  ['no content', { action: 'accept' }, 'Not answered.'],
  ['invalid content', { action: 'accept', content: 7 }, 'Not answered.'],
  ['answers of other kinds', { action: 'accept', content: { answer1: { a: 1 } } }, 'Not answered.'],
])('%s in a form does not count as an answer', async (_what, answer, report) => {
  const model = scriptedModel([ask, 'Done.'])
  const { newSession, prompt } = await startAgent({
    model,
    capabilities: { elicitation: { form: {} } },
    elicitation: () => answer as never,
  })
  const { sessionId } = await newSession()
  expect(await prompt(sessionId, 'go')).toMatchObject({ stopReason: 'end_turn' })
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain(report)
})

describe('files', () => {
  const fs = { readTextFile: true, writeTextFile: true }
  const read: ScriptedReply = { toolCalls: [{ name: 'Read', input: { file_path: 'a.txt' } }] }
  const edit: ScriptedReply = {
    toolCalls: [{ name: 'Edit', input: { file_path: 'a.txt', old_string: 'old', new_string: 'new' } }],
  }

  test('writes the change to disk if the client only claims to have written it', async () => {
    const model = scriptedModel([read, edit, 'Done.'])
    const { cwd, newSession, prompt } = await startAgent({
      model,
      mode: 'acceptEdits',
      capabilities: { fs: { writeTextFile: true } },
      writeFile: () => undefined,
    })
    writeFileSync(join(cwd, 'a.txt'), 'old\n')
    const { sessionId } = await newSession()
    await prompt(sessionId, 'go')
    expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('new\n')
  })

  test('reads a file again if the client wrote another text', async () => {
    const again: ScriptedReply = {
      toolCalls: [{ name: 'Edit', input: { file_path: 'a.txt', old_string: 'new', new_string: 'newer' } }],
    }
    const model = scriptedModel([read, edit, again, 'Done.'])
    const { cwd, newSession, prompt } = await startAgent({
      model,
      mode: 'acceptEdits',
      capabilities: { fs },
      readFile: ({ path }) => readFileSync(path, 'utf8'),
      writeFile: ({ path, content }) => writeFileSync(path, `${content}// formatted, new\n`),
    })
    writeFileSync(join(cwd, 'a.txt'), 'old\n')
    const { sessionId } = await newSession()
    expect(await prompt(sessionId, 'go')).toMatchObject({ stopReason: 'end_turn' })
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('has changed since you read it')
    expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('new\n// formatted, new\n')
  })

  test('limits a file of twenty megabytes from the client like any file', async () => {
    const model = scriptedModel([read, 'Done.'])
    const { cwd, newSession, prompt } = await startAgent({
      model,
      capabilities: { fs },
      readFile: () => 'x'.repeat(20_000_000),
    })
    writeFileSync(join(cwd, 'a.txt'), 'on disk\n')
    const { sessionId } = await newSession()
    await prompt(sessionId, 'go')
    const shown = JSON.stringify(model.requests.at(-1)?.messages)
    expect([shown.includes('1\\txxx'), shown.length < 100_000]).toEqual([true, true])
  })
})
