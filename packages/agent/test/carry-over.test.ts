// Holds rules of docs/spec: R-CARRY-1 to R-CARRY-3.
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createCarryOver, Workspace, createCodingTools } from '@halting/agent'
import { createPermissions, type PermissionOptions } from '@halting/policy'
import { type Json, QueryEngine, type SdkMessage, Transcript, type TranscriptEntry } from '@halting/core'
import { contextLayers, noUsage, type PinnedText } from '@halting/core/adapters'
import { scriptedModel } from '@halting/core/testing'
import { describe, expect, test } from 'vitest'
import { taskListTitle } from '../src/tools/task-list/task-list-texts.ts'
import { codingTools, temporaryFolder, type Harness } from './support/harness.ts'

type Rules = Partial<Omit<PermissionOptions, 'cwd'>>

/** What would be pinned now. */
async function carriedBy(
  { workspace, cwd }: Pick<Harness, 'workspace' | 'cwd'>,
  { entries = [], maxTokens = 20_000, rules = {} }: CarryOverInput = {},
): Promise<readonly PinnedText[]> {
  const carryOver = createCarryOver(workspace, createPermissions({ cwd, whenAsked: 'deny', ...rules }))
  const transcript = Transcript.of(entries)
  return carryOver({
    signal: new AbortController().signal,
    messages: transcript.messages(),
    transcript,
    maxTokens,
  })
}

interface CarryOverInput {
  readonly entries?: readonly TranscriptEntry[]
  readonly maxTokens?: number
  readonly rules?: Rules
}

describe('files', () => {
  test('are read again if recently read or written: newest first, at most five, by relative paths', async () => {
    const harness = codingTools()
    mkdirSync(join(harness.cwd, 'src'))
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) {
      writeFileSync(join(harness.cwd, 'src', name), `text of ${name}\n`)
      await harness.use('Read', { file_path: `src/${name}` })
    }
    await harness.use('Edit', { file_path: 'src/b', old_string: 'text', new_string: 'words' })
    await harness.use('Write', { file_path: 'new.txt', content: 'new\n' })
    expect(await carriedBy(harness)).toEqual([
      { title: 'The file new.txt', text: '     1\tnew' },
      { title: 'The file src/b', text: '     1\twords of b' },
      { title: 'The file src/f', text: '     1\ttext of f' },
      { title: 'The file src/e', text: '     1\ttext of e' },
      { title: 'The file src/d', text: '     1\ttext of d' },
    ])
  })

  test('are reported as changed or deleted since they were read', async () => {
    const harness = codingTools()
    for (const name of ['same', 'changed', 'gone']) {
      writeFileSync(join(harness.cwd, name), `${name}\n`)
      await harness.use('Read', { file_path: name })
    }
    writeFileSync(join(harness.cwd, 'changed'), 'another text\n')
    rmSync(join(harness.cwd, 'gone'))
    expect(await carriedBy(harness)).toEqual([
      { title: 'The file gone', text: 'It was deleted after you read it.' },
      { title: 'The file changed, changed since you read it', text: '     1\tanother text' },
      { title: 'The file same', text: '     1\tsame' },
    ])
  })

  test('are omitted if Read is denied, outside, or needs permission', async () => {
    const outside = temporaryFolder()
    writeFileSync(join(outside, 'far.txt'), 'far\n')
    const harness = codingTools()
    for (const name of ['.env', 'ask.txt', 'open.txt']) {
      writeFileSync(join(harness.cwd, name), `${name}\n`)
      await harness.use('Read', { file_path: name })
    }
    symlinkSync(join(outside, 'far.txt'), join(harness.cwd, 'near.txt'))
    await harness.use('Read', { file_path: 'near.txt' })
    const rules: Rules = { deny: ['Read(.env)'], ask: ['Read(ask.txt)'] }
    expect(await carriedBy(harness, { rules })).toEqual([{ title: 'The file open.txt', text: '     1\topen.txt' }])
  })

  test('are omitted if they are not text: images, binary files, directories in their place', async () => {
    const harness = codingTools()
    for (const name of ['picture.png', 'binary', 'folder', 'text']) {
      writeFileSync(join(harness.cwd, name), 'text\n')
      await harness.use('Write', { file_path: `${name}.new`, content: 'text\n' })
      harness.workspace.files.recordSeen(join(harness.cwd, name), { modifiedMs: 0, bytes: 0, hash: undefined })
    }
    writeFileSync(join(harness.cwd, 'binary'), Buffer.from([1, 0, 2]))
    rmSync(join(harness.cwd, 'folder'))
    mkdirSync(join(harness.cwd, 'folder'))
    const titles = (await carriedBy(harness)).map(({ title }) => title)
    expect(titles).toEqual([
      'The file text, changed since you read it',
      'The file text.new',
      'The file folder.new',
      'The file binary.new',
      'The file picture.png.new',
    ])
  })

  test('are shown around the last viewed lines if they are long, and all files fit the limit', async () => {
    const harness = codingTools()
    const lines = Array.from({ length: 3_000 }, (_, index) => `line ${index + 1} of a long file`)
    for (const name of ['first.txt', 'second.txt', 'third.txt', 'fourth.txt']) {
      writeFileSync(join(harness.cwd, name), lines.join('\n'))
      await harness.use('Read', { file_path: name, offset: 1_500, limit: 20 })
    }
    const old = 'line 2000 of a long file'
    await harness.use('Edit', { file_path: 'second.txt', old_string: old, new_string: 'line 2000 is new' })
    const carried = await carriedBy(harness, { maxTokens: 3_000 })
    const [second, fourth] = carried
    expect(second?.title).toMatch(/^The file second\.txt \(lines 1980 to \d+ of 3000\)$/)
    expect(second?.text).toContain('  2000\tline 2000 is new\n')
    expect(fourth?.title).toMatch(/^The file fourth\.txt \(lines 1500 to \d+ of 3000\)$/)
    const sizes = carried.map(({ text }) => text.length)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(3_000 * 4)
    expect(sizes[0]).toBeLessThan(3_000 * 2)
    expect(carried.length).toBeGreaterThan(2)
  })

  test('an abort ends it', async () => {
    const { workspace, cwd, use } = codingTools()
    await use('Write', { file_path: 'a', content: 'a' })
    const carryOver = createCarryOver(workspace, createPermissions({ cwd }))
    await expect(async () =>
      carryOver({
        signal: AbortSignal.abort(new Error('stop')),
        messages: [],
        transcript: Transcript.empty(),
        maxTokens: 100,
      }),
    ).rejects.toThrow('stop')
  })
})

describe('the task list', () => {
  const entry = (id: string, name: string, input: Json, memo?: Json): readonly TranscriptEntry[] => [
    {
      kind: 'assistant',
      id: `asked_${id}`,
      message: {
        id: `msg_${id}`,
        role: 'assistant',
        model: 'm',
        content: [{ type: 'tool_use', id, name, input }],
        stop_reason: 'tool_use',
        usage: noUsage,
      },
    },
    {
      kind: 'user',
      id: `answered_${id}`,
      origin: 'tool_results',
      message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: '.' }] },
      ...(memo !== undefined && { memos: { [id]: memo } }),
    },
  ]
  const boundary: TranscriptEntry = {
    kind: 'compact_boundary',
    id: 'compacted',
    messages: [{ role: 'user', content: 'A summary.' }],
    trigger: 'auto',
    preTokens: 9,
    postTokens: 1,
  }

  test('is pinned, also by the next compaction', async () => {
    const harness = codingTools()
    const entries: TranscriptEntry[] = []
    for (const [id, subject] of [
      ['a', 'Read'],
      ['b', 'Write'],
    ] as const) {
      const { output } = await harness.use('TaskCreate', { subject })
      entries.push(...entry(id, 'TaskCreate', { subject }, output.memo))
    }
    const list = [{ title: taskListTitle, text: '#1 [pending] Read\n#2 [pending] Write' }]
    expect(await carriedBy(harness, { entries })).toEqual(list)
    expect(await carriedBy(harness, { entries: [...entries, boundary] })).toEqual(list)
  })

  test('is not pinned when it is empty', async () => {
    const entries = entry('a', 'TodoWrite', { todos: [{ content: 'Read', status: 'pending' }] })
    const emptied = [...entries, ...entry('b', 'TodoWrite', { todos: [] })]
    expect(await carriedBy(codingTools(), { entries: emptied })).toEqual([])
  })
})

describe('over a real compaction', () => {
  async function session(change: (path: string) => void, edits: string) {
    const cwd = temporaryFolder()
    const path = join(cwd, 'a.txt')
    writeFileSync(path, 'one\n')
    const workspace = new Workspace({ cwd })
    const permissions = createPermissions({ cwd, mode: 'acceptEdits' })
    const model = scriptedModel([
      { toolCalls: [{ name: 'Read', input: { file_path: 'a.txt' } }] },
      'I have read it.',
      'The summary says nothing of the file.',
      { toolCalls: [{ name: 'Edit', input: { file_path: 'a.txt', old_string: edits, new_string: 'two' } }] },
      'Done.',
    ])
    const engine = new QueryEngine({
      model,
      tools: createCodingTools(workspace),
      permissions,
      context: contextLayers({ carryOver: createCarryOver(workspace, permissions) }),
      contextWindow: 30_000,
    })
    const messages: SdkMessage[] = []
    for await (const message of engine.submit(`Read a.txt. ${'Some words to make it long. '.repeat(900)}`))
      messages.push(message)
    change(path)
    for await (const message of engine.compact()) messages.push(message)
    for await (const message of engine.submit('Now edit it.')) messages.push(message)
    const results = engine.transcript.messages().flatMap(({ content }) => {
      if (typeof content === 'string') return []
      return content.flatMap((block) => (block.type === 'tool_result' ? [block.content] : []))
    })
    return { path, results, shown: JSON.stringify(model.requests.at(-1)?.messages) }
  }

  test('a pinned file may be edited at once', async () => {
    const { path, results, shown } = await session(() => undefined, 'one')
    expect(shown).toContain(String.raw`The file a.txt, as of now:\n\n     1\tone`)
    expect(results.at(-1)).toContain('Edited')
    expect(readFileSync(path, 'utf8')).toBe('two\n')
  })

  test('a pinned file that had changed since it was read may be edited as it was shown', async () => {
    const { path, results } = await session((file) => writeFileSync(file, 'uno\n'), 'uno')
    expect(results.at(-1)).toContain('Edited')
    expect(readFileSync(path, 'utf8')).toBe('two\n')
  })

  test('a file may not be edited if the compaction was dropped, so that nobody saw its current state', async () => {
    const harness = codingTools()
    const path = join(harness.cwd, 'a.txt')
    writeFileSync(path, 'one\n')
    await harness.use('Read', { file_path: 'a.txt' })
    writeFileSync(path, 'uno\n')
    expect(await carriedBy(harness)).toHaveLength(1)
    for (const [tool, input] of [
      ['Edit', { file_path: 'a.txt', old_string: 'uno', new_string: 'two' }],
      ['Write', { file_path: 'a.txt', content: 'two' }],
    ] as const) {
      expect(await harness.use(tool, input)).toMatchObject({
        isError: true,
        text: expect.stringContaining('has changed'),
      })
    }
    expect(readFileSync(path, 'utf8')).toBe('uno\n')
  })
})
