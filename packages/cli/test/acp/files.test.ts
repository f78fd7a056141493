// Holds rules of docs/spec: R-ACP-12, tested through a client.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scriptedModel } from '@halting/core/testing'
import { startAgent } from '../support/acp-agent.ts'

const read = { toolCalls: [{ name: 'Read', input: { file_path: 'a.txt' } }] }
const edit = {
  toolCalls: [{ name: 'Edit', input: { file_path: 'a.txt', old_string: 'typed', new_string: 'changed' } }],
}

function lastMessages({ requests }: ReturnType<typeof scriptedModel>): string {
  return JSON.stringify(requests.at(-1)?.messages)
}

test('reads and edits unsaved text through the client', async () => {
  const model = scriptedModel([read, edit, 'Done.'])
  let buffer = 'typed\n'
  const asked: string[] = []
  const { cwd, newSession, prompt, updates, wire } = await startAgent({
    model,
    mode: 'acceptEdits',
    capabilities: { fs: { readTextFile: true, writeTextFile: true } },
    readFile: ({ path }) => (asked.push(`read ${path}`), buffer),
    writeFile({ path, content }) {
      asked.push(`write ${path}`)
      buffer = content
      writeFileSync(path, content)
    },
  })
  const path = join(cwd, 'a.txt')
  writeFileSync(path, 'on disk\n')
  const { sessionId } = await newSession()
  expect(await prompt(sessionId, 'Edit a.txt')).toMatchObject({ stopReason: 'end_turn' })
  expect(lastMessages(model)).toContain('1\\ttyped')
  expect([buffer, readFileSync(path, 'utf8')]).toEqual(['changed\n', 'changed\n'])
  expect([...new Set(asked)]).toEqual([`read ${path}`, `write ${path}`])
  // An editor that follows the agent gets the location.
  expect(updates('tool_call_update')).toContainEqual(expect.objectContaining({ locations: [{ path, line: 1 }] }))
  expect(wire.problems).toEqual([])
})

test('uses the disk if the client refuses a file', async () => {
  const model = scriptedModel([
    read,
    { toolCalls: [{ name: 'Edit', input: { file_path: 'a.txt', old_string: 'on disk', new_string: 'changed' } }] },
    'Done.',
  ])
  const refuse = () => {
    throw new Error('not in the project')
  }
  const { cwd, newSession, prompt, wire } = await startAgent({
    model,
    mode: 'acceptEdits',
    capabilities: { fs: { readTextFile: true, writeTextFile: true } },
    readFile: refuse,
    writeFile: refuse,
  })
  writeFileSync(join(cwd, 'a.txt'), 'on disk\n')
  const { sessionId } = await newSession()
  await prompt(sessionId, 'Edit a.txt')
  expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('changed\n')
  expect(wire.problems).toEqual([])
})

test.each([5, null, { text: 'typed' }])(
  'uses the disk if the client answers with %j in place of a text',
  async (content) => {
    const model = scriptedModel([read, 'Done.'])
    const { cwd, newSession, prompt } = await startAgent({
      model,
      capabilities: { fs: { readTextFile: true } },
      readFile: () => content as never,
    })
    writeFileSync(join(cwd, 'a.txt'), 'on disk\n')
    const { sessionId } = await newSession()
    await prompt(sessionId, 'Read a.txt')
    expect(lastMessages(model)).toContain('1\\ton disk')
  },
)

test('does not ask the client for a file that rules deny', async () => {
  const asked: string[] = []
  const model = scriptedModel([read, 'Not allowed.'])
  const { cwd, newSession, prompt } = await startAgent({
    model,
    options: { permissions: { denies: () => 'no', decide: () => ({ behavior: 'deny', message: 'no' }) } },
    capabilities: { fs: { readTextFile: true } },
    readFile: ({ path }) => (asked.push(path), 'secret'),
  })
  writeFileSync(join(cwd, 'a.txt'), 'on disk\n')
  const { sessionId } = await newSession()
  await prompt(sessionId, 'Read a.txt')
  expect(asked).toEqual([])
  expect(lastMessages(model)).not.toContain('secret')
})

test('a client that never answers does not block a cancelled run', async () => {
  const { agent, cwd, newSession, prompt, wire } = await startAgent({
    model: scriptedModel([read]),
    capabilities: { fs: { readTextFile: true } },
    readFile: () => new Promise<never>(() => undefined),
  })
  writeFileSync(join(cwd, 'a.txt'), 'on disk\n')
  const { sessionId } = await newSession()
  const answered = prompt(sessionId, 'Read a.txt')
  await expect.poll(() => wire.said.some(({ message }) => message['method'] === 'fs/read_text_file')).toBe(true)
  await agent.notify('session/cancel', { sessionId })
  expect(await answered).toMatchObject({ stopReason: 'cancelled' })
})
