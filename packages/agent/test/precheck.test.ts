// Holds R-HAND-10 to R-HAND-10b of docs/spec: nobody is asked to approve a change of a file that cannot be made.
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createCodingTools, Workspace } from '@halting/agent'
import { createPermissions, type PermissionOptions } from '@halting/policy'
import { readHooks, ShellHooks } from '../src/hooks/index.ts'
import { redactedTool } from '../src/redact/redacted-tools.ts'
import { QueryEngine } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from './support/harness.ts'

type Call = readonly [name: string, input: { readonly [field: string]: unknown }]

interface PrecheckOptions extends Partial<PermissionOptions> {
  /** Executed when the user is asked, before the answer. */
  readonly whileAsked?: (cwd: string) => void
  readonly redact?: (text: string) => string
}

/** Sequential calls whose changes ask. Returns who was asked about what, and the results. */
async function calling(
  calls: readonly Call[],
  { whileAsked, redact, ...options }: PrecheckOptions = {},
  cwd = temporaryFolder(),
) {
  const permissions = createPermissions({ cwd, ...options })
  const workspace = new Workspace({ cwd, hides: (path, rights) => permissions.deniesReading(path, rights) })
  onTestFinished(() => workspace.dispose())
  const tools = createCodingTools(workspace).map((tool) => (redact === undefined ? tool : redactedTool(tool, redact)))
  const asked: string[] = []
  const engine = new QueryEngine({
    model: scriptedModel([...calls.map(([name, input]) => ({ toolCalls: [{ name, input }] })), 'Done.']),
    tools,
    permissions,
    canUseTool: (name, input) => {
      const path = input['file_path'] ?? input['notebook_path']
      asked.push(`${name} ${typeof path === 'string' ? path : ''}`)
      whileAsked?.(cwd)
      return { behavior: 'allow' }
    },
  })
  const results: string[] = []
  let denials: readonly unknown[] = []
  for await (const message of engine.submit('go')) {
    if (message.type === 'user' && Array.isArray(message.message.content))
      for (const block of message.message.content) if (block.type === 'tool_result') results.push(String(block.content))
    if (message.type === 'result') denials = message.permission_denials
  }
  return { cwd, asked, results, denials }
}

/** A folder with a file `a.txt` of two equal lines, a notebook, a folder and a link. */
function files(): string {
  const cwd = temporaryFolder()
  writeFileSync(join(cwd, 'a.txt'), 'one\ntwo\none\n')
  const cells = [{ cell_type: 'code', id: 'x', metadata: {}, execution_count: null, outputs: [], source: ['1\n'] }]
  writeFileSync(join(cwd, 'b.ipynb'), JSON.stringify({ cells, metadata: {}, nbformat: 4, nbformat_minor: 5 }))
  mkdirSync(join(cwd, 'folder'))
  return cwd
}

const read: Call = ['Read', { file_path: 'a.txt' }]
const edit = (file: string, from: string, to: string = 'three', more: object = {}): Call => [
  'Edit',
  { file_path: file, old_string: from, new_string: to, ...more },
]
const write = (file: string): Call => ['Write', { file_path: file, content: 'new\n' }]
const notebook = (file: string, cell: string): Call => [
  'NotebookEdit',
  { notebook_path: file, cell_id: cell, new_source: '2' },
]

describe('does not ask about an impossible change, and gives the model the reason', () => {
  test.each<[string, readonly Call[], string]>([
    ['old_string is not there', [read, edit('a.txt', 'four')], 'old_string is not in the file'],
    ['old_string is there twice', [read, edit('a.txt', 'one')], 'old_string occurs 2 times'],
    ['both texts are the same', [read, edit('a.txt', 'two', 'two')], 'old_string and new_string are identical'],
    ['an empty old_string', [read, edit('a.txt', '')], 'exists and is not empty'],
    ['Edit of a file that was not read', [edit('a.txt', 'two')], 'has not been read yet'],
    ['Edit of no file', [edit('none.txt', 'two')], 'does not exist'],
    ['Edit of a folder', [edit('folder', 'two')], 'is a directory'],
    ['Edit below a file', [edit('a.txt/b', 'two')], 'a part of the path is a file, not a directory'],
    ['Write of a file that was not read', [write('a.txt')], 'already exists and has not been read yet'],
    ['Write of a folder', [write('folder')], 'is a directory'],
    ['Write below a file', [write('a.txt/b')], 'a part of the path is a file, not a directory'],
    ['NotebookEdit of a file that was not read', [notebook('b.ipynb', 'x')], 'has not been read yet'],
    ['NotebookEdit of no cell', [['Read', { file_path: 'b.ipynb' }], notebook('b.ipynb', 'y')], 'has no cell y'],
    ['NotebookEdit of no notebook', [read, notebook('a.txt', 'x')], 'is not a notebook'],
  ])('%s', async (_what, calls, reason) => {
    const { asked, results, denials } = await calling(calls, {}, files())
    expect([asked, denials]).toEqual([[], []])
    expect(results.at(-1)).toContain(reason)
  })

  test('for a file that changed since it was read', async () => {
    const cwd = files()
    const change: Call = ['Bash', { command: 'echo more >> a.txt' }]
    const { asked, results } = await calling([read, change, edit('a.txt', 'two')], { allow: ['Bash'] }, cwd)
    expect(asked).toEqual([])
    expect(results.at(-1)).toContain('has changed since you read it')
  })

  test('gives this reason even if nobody can be asked, instead of a denial that suggests a rule', async () => {
    for (const options of [{ whenAsked: 'deny' }, { mode: 'dontAsk' }] as const) {
      const { results, denials } = await calling([edit('none.txt', 'two'), write('new.txt')], options, files())
      expect(results[0]).toContain('does not exist')
      expect(denials).toEqual([expect.objectContaining({ tool_name: 'Write' })])
    }
  })

  test('gives this reason even if an ask rule applies', async () => {
    const { asked, denials } = await calling([write('a.txt')], { ask: ['Edit'] }, files())
    expect([asked, denials]).toEqual([[], []])
  })
})

describe('a possible change', () => {
  test.each<[string, readonly Call[]]>([
    ['Edit a.txt', [read, edit('a.txt', 'two')]],
    ['Edit a.txt', [read, edit('a.txt', 'one', 'three', { replace_all: true })]],
    ['Edit new.txt', [edit('new.txt', '')]],
    ['Write new.txt', [write('new.txt')]],
    ['Write deep/new.txt', [write('deep/new.txt')]],
    ['NotebookEdit b.ipynb', [['Read', { file_path: 'b.ipynb' }], notebook('b.ipynb', 'x')]],
  ])('%s asks, and is made', async (question, calls) => {
    const { asked, results } = await calling(calls, {}, files())
    expect(asked).toEqual([question])
    expect(results.at(-1)).toMatch(/^(Edited|Created|Updated|Replaced)/)
  })

  test('asks in the message that read the file, and after an earlier call that created it', async () => {
    const cwd = files()
    const { asked } = await calling([write('new.txt'), edit('new.txt', 'new')], {}, cwd)
    expect(asked).toEqual(['Write new.txt', 'Edit new.txt'])
  })

  test('is checked again after the answer: changes made meanwhile are not overwritten', async () => {
    const cwd = files()
    const whileAsked = (folder: string): void => writeFileSync(join(folder, 'a.txt'), 'of the person\n')
    const { asked, results } = await calling([read, edit('a.txt', 'two')], { whileAsked }, cwd)
    expect(asked).toEqual(['Edit a.txt'])
    expect(results.at(-1)).toContain('has changed since you read it')
    expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('of the person\n')
  })
})

// No answer reveals what rules hide from reading: neither whether a file exists, nor its content.
describe('files that must not be read', () => {
  const hidden = { deny: ['Read(secret/**)'] }

  function withSecrets(): string {
    const cwd = files()
    mkdirSync(join(cwd, 'secret'))
    writeFileSync(join(cwd, 'secret/is'), 'the secret\n')
    symlinkSync('secret/is', join(cwd, 'link'))
    return cwd
  }

  test.each<[string, (file: string) => Call]>([
    ['Edit', (file) => edit(file, 'the')],
    ['NotebookEdit', (file) => notebook(file, 'x')],
  ])('get the same answer from %s whether they exist or not', async (_name, call) => {
    const cwd = withSecrets()
    const outside = temporaryFolder()
    writeFileSync(join(outside, 'is'), 'the secret')
    for (const [is, none] of [
      ['secret/is', 'secret/none'],
      [join(outside, 'is'), join(outside, 'none')],
    ] as const) {
      const there = await calling([call(is)], hidden, cwd)
      const absent = await calling([call(none)], hidden, cwd)
      expect([there.asked, absent.asked]).toEqual([[], []])
      expect(there.results).toEqual(absent.results.map((text) => text.replaceAll(none, is)))
    }
  })

  test('ask for Write, and for an Edit that may create a file', async () => {
    const cwd = withSecrets()
    for (const file of ['secret/is', 'secret/none', 'link', join(temporaryFolder(), 'x')])
      for (const call of [write(file), edit(file, '')])
        expect(
          (
            await calling(
              [call],
              {
                ...hidden,
                whileAsked: () => {
                  throw new Error('stop')
                },
              },
              cwd,
            )
          ).asked,
        ).toHaveLength(1)
  })

  test('are denied first by a deny rule', async () => {
    const { results } = await calling([edit('a.txt', 'two')], { deny: ['Edit(a.txt)'] }, files())
    expect(results[0]).toContain('Denied by the rule Edit(a.txt)')
  })

  test('have the reason redacted like results', async () => {
    const redact = (text: string): string => text.replaceAll('two', '[REDACTED]')
    const { results, asked } = await calling([read, edit('a.txt', 'One\ntwos\n')], { redact }, files())
    expect(asked).toEqual([])
    expect(results.join()).not.toContain('two')
    expect(results.at(-1)).toContain('[REDACTED]')
  })
})

test('does not ask a PermissionRequest hook either', async () => {
  const cwd = temporaryFolder()
  const log = join(cwd, 'asked')
  const shell = new ShellHooks({
    hooks: readHooks({ PermissionRequest: [{ hooks: [{ type: 'command', command: `echo x >> ${log}` }] }] }).hooks,
    sessionId: 's1',
    transcriptPath: join(cwd, 's1.jsonl'),
    cwd,
    env: process.env,
    permissionMode: () => 'default',
    model: 'm',
    source: 'startup',
  })
  onTestFinished(() => shell.end('other'))
  const permissions = shell.permissions(createPermissions({ cwd }).asking, 'deny')
  const tool = { name: 'Write', description: '', inputSchema: {}, readOnly: false, execute: () => '' }
  const call = { type: 'tool_use', id: 'a', name: 'Write', input: { file_path: 'a', content: '' } } as const
  const request = { call, tool, readOnly: false }
  const failing = await permissions.decide({ ...request, precheck: async () => 'it cannot' })
  expect([failing, existsSync(log)]).toEqual([{ behavior: 'fail', message: 'it cannot' }, false])
  const fine = await permissions.decide({ ...request, precheck: async () => undefined })
  expect([fine.behavior, existsSync(log)]).toEqual(['deny', true])
})
