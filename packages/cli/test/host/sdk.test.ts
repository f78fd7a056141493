// Spec R-HOST-1, R-HOST-10, R-HOST-11, R-HOST-12: the official SDK drives the program, unchanged. Each option and request has a test of its own in sdk-*.test.ts.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createSdkMcpServer, tool } from '@anthropic-ai/claude-agent-sdk'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { installProgram } from '../support/program.ts'
import { answerOf, runQuery, removeFoldersAfterEach, PromptStream, toolResults, use } from './support/sdk.ts'

installProgram()
removeFoldersAfterEach()

const calc = () =>
  createSdkMcpServer({
    name: 'calc',
    tools: [
      tool('add', 'Adds', { a: z.number(), b: z.number() }, async ({ a, b }) => ({
        content: [{ type: 'text', text: String(a + b) }],
      })),
    ],
  })

test('uses permission callbacks, hooks and servers in one run', async () => {
  const seen: string[] = []
  const replies = [
    use('mcp__calc__add', { a: 1, b: 2 }),
    use('Bash', { command: 'touch made' }),
    use('Bash', { command: 'touch never' }),
    { content: 'Done.' },
  ]
  const outcome = await runQuery('go', replies, {
    options: {
      mcpServers: { calc: calc() },
      canUseTool: async (name, input) => {
        seen.push(`asked ${name}`)
        return JSON.stringify(input).includes('never')
          ? { behavior: 'deny', message: 'not this one' }
          : { behavior: 'allow', updatedInput: input }
      },
      hooks: { PreToolUse: [{ matcher: 'Bash', hooks: [async () => (seen.push('hook'), {})] }] },
    },
  })
  expect(seen).toEqual(['asked mcp__calc__add', 'hook', 'asked Bash', 'hook', 'asked Bash'])
  expect([toolResults(outcome)[0], toolResults(outcome)[2]]).toEqual(['3', expect.stringContaining('not this one')])
  expect([
    answerOf(outcome),
    outcome.thrown,
    existsSync(join(outcome.cwd, 'made')),
    existsSync(join(outcome.cwd, 'never')),
  ]).toEqual(['Done.', undefined, true, false])
})

test('an interrupt ends a run that waits for an answer; the next message has its own run', async () => {
  const prompts = new PromptStream('go')
  const outcome = await runQuery(prompts, [use('Bash', { command: 'touch made' }), { content: 'Second.' }], {
    options: { canUseTool: () => new Promise(() => undefined) },
    during: async (message, query) => {
      if (
        message.type === 'system' &&
        message.subtype === 'session_state_changed' &&
        message.state === 'requires_action'
      )
        await query.interrupt()
      if (message.type !== 'result') return
      if (message.subtype === 'success') prompts.end()
      else prompts.push('again')
    },
  })
  expect(outcome.results.map(({ subtype, terminal_reason: reason }) => [subtype, reason])).toEqual([
    ['error_during_execution', 'aborted_tools'],
    ['success', 'completed'],
  ])
  expect([answerOf(outcome), outcome.thrown, existsSync(join(outcome.cwd, 'made'))]).toEqual([
    'Second.',
    undefined,
    false,
  ])
})
