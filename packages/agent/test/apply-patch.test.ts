// Holds rules of docs/spec: R-PATCH-1 to R-PATCH-6.
import { everyTool } from '../src/tools/available-tools.ts'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { structuredPatch } from 'diff'
import * as fc from 'fast-check'
import { createCodingTools, FileCheckpoints, Workspace, type WorkspaceOptions } from '@halting/agent'
import { describe, expect, onTestFinished, test } from 'vitest'
import { loneSurrogate } from '../src/tools/input-texts.ts'
import { noPatch, notPatch } from '../src/tools/patches/patch-format-texts.ts'
import {
  applied,
  changedSince,
  existsAlready,
  failedMidway,
  hiddenFile,
  insideOther,
  isLink,
  misplaced,
  missing,
  notApplied,
  sameFile,
  targetExists,
  unread,
} from '../src/tools/patches/patch-texts.ts'
import { isDeep } from './support/deep.ts'
import { runTool, temporaryFolder, toolNamed } from './support/harness.ts'

type ToolResult = Awaited<ReturnType<typeof runTool>>

interface Patching {
  readonly cwd: string
  readonly workspace: Workspace
  readonly patch: (body: string) => Promise<ToolResult>
  readonly use: (name: string, input: unknown) => Promise<ToolResult>
  readonly tree: () => Readonly<Record<string, string>>
}

function patching(files: Readonly<Record<string, string>> = {}, options: Partial<WorkspaceOptions> = {}): Patching {
  const cwd = options.cwd ?? temporaryFolder()
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(cwd, path)), { recursive: true })
    writeFileSync(join(cwd, path), text)
  }
  const workspace = new Workspace({ ...options, cwd })
  onTestFinished(() => workspace.dispose())
  const tools = createCodingTools(workspace, { toolProfile: 'codex' })
  const use = (name: string, input: unknown): Promise<ToolResult> => runTool(toolNamed(tools, name), input)
  return {
    cwd,
    workspace,
    use,
    patch: (body) => use('apply_patch', { input: `*** Begin Patch\n${body}\n*** End Patch\n` }),
    tree: () => treeOf(cwd),
  }
}

function treeOf(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const paths = names.map((entry) => join(entry.parentPath, entry.name)).toSorted()
  return Object.fromEntries(paths.map((path) => [relative(folder, path), readFileSync(path, 'utf8')]))
}

describe('a patch', () => {
  test('adds, updates, moves and deletes files, and makes folders', async () => {
    const { cwd, patch, use, tree } = patching({ 'a.txt': 'one\ntwo\nthree\n', 'b.txt': 'x\n', 'old.txt': 'gone\n' })
    await use('Read', { file_path: 'old.txt' })
    const result = await patch(
      '*** Add File: new/deep.txt\n+first\n+\n+third\n*** Update File: a.txt\n@@\n one\n-two\n+2\n three\n' +
        '*** Update File: b.txt\n*** Move to: moved/c.txt\n@@\n-x\n+y\n*** Delete File: old.txt',
    )
    expect(result.text).toBe(
      applied([
        { kind: 'add', path: `${cwd}/new/deep.txt`, lines: { added: 3, removed: 0 }, inexact: [], notes: '' },
        { kind: 'update', path: `${cwd}/a.txt`, lines: { added: 1, removed: 1 }, inexact: [], notes: '' },
        { kind: 'update', path: `${cwd}/b.txt`, moveTo: `${cwd}/moved/c.txt`, lines: { added: 1, removed: 1 }, inexact: [], notes: '' }, // prettier-ignore
        { kind: 'delete', path: `${cwd}/old.txt`, lines: { added: 0, removed: 1 }, inexact: [], notes: '' },
      ]),
    )
    expect(tree()).toEqual({ 'a.txt': 'one\n2\nthree\n', 'moved/c.txt': 'y\n', 'new/deep.txt': 'first\n\nthird\n' })
    const { files } = result.details as { readonly files: readonly Record<string, unknown>[] }
    expect(files.map(({ filePath, change, linesAdded }) => [filePath, change, linesAdded])).toEqual([
      [`${cwd}/new/deep.txt`, 'add', 3],
      [`${cwd}/a.txt`, 'update', 1],
      [`${cwd}/b.txt`, 'update', 1],
      [`${cwd}/old.txt`, 'delete', 0],
    ])
  })

  test('counts files that it wrote as read, but not deleted ones', async () => {
    const { cwd, workspace, patch, use } = patching({ 'a.txt': 'one\n', 'b.txt': 'one\n' })
    await use('Read', { file_path: 'b.txt' })
    const { output } = await patch('*** Update File: a.txt\n@@\n-one\n+two\n*** Delete File: b.txt')
    expect([workspace.files.hasSeen(join(cwd, 'a.txt')), workspace.files.hasSeen(join(cwd, 'b.txt'))]).toEqual([
      true,
      false,
    ])
    expect(output.memo).toMatchObject({ files: [{ path: join(cwd, 'a.txt') }], deleted: [join(cwd, 'b.txt')] })
    expect((await patch('*** Delete File: a.txt')).isError).toBe(false)
  })

  test('moves a file without changing it, with its mode', async () => {
    const { cwd, patch, tree } = patching({ 'run.sh': 'echo\n' })
    chmodSync(join(cwd, 'run.sh'), 0o755)
    await patch('*** Update File: run.sh\n*** Move to: bin/run.sh')
    expect(tree()).toEqual({ 'bin/run.sh': 'echo\n' })
    expect(statSync(join(cwd, 'bin/run.sh')).mode & 0o777).toBe(0o755)
  })

  test.each([
    ['a here-document', "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: n\n+a\n*** End Patch\nEOF"],
    ['a here-document of bash -lc', 'bash -lc "apply_patch <<PATCH\n*** Begin Patch\n*** Add File: n\n+a\n*** End Patch\nPATCH"'], // prettier-ignore
    ['a fence', '```diff\n*** Begin Patch\n*** Add File: n\n+a\n*** End Patch\n```'],
    ['a here-document without the end of the patch', '<<EOF\n*** Begin Patch\n*** Add File: n\n+a\nEOF\n'],
    ['CRLF', '*** Begin Patch\r\n*** Add File: n\r\n+a\r\n*** End Patch\r\n'],
    ['blanks around its marks', '\n  *** Begin Patch  \n  *** Add File: n  \n+a\n\n *** End Patch \n'],
  ])('is parsed: %s', async (_name, input) => {
    const { use, tree } = patching()
    expect((await use('apply_patch', { input })).isError).toBe(false)
    expect(tree()).toEqual({ n: 'a\n' })
  })

  test('is accepted in the field patch, and without its last line if it is complete', async () => {
    const { use, tree } = patching({ a: 'one\n', b: 'b\n' })
    await use('Read', { file_path: 'b' })
    await use('apply_patch', { patch: '*** Begin Patch\n*** Update File: a\n@@\n one\n+two\n*** End of File' })
    await use('apply_patch', { input: '*** Begin Patch\n*** Delete File: b\n' })
    expect(tree()).toEqual({ a: 'one\ntwo\n' })
  })

  test.each([
    ['nothing', {}, noPatch],
    ['half a character', { input: '*** Begin Patch\n*** Add File: a\n+\uD800\n*** End Patch' }, loneSurrogate('input')],
    ['another text', { input: 'hello' }, notPatch({ kind: 'no begin' })],
    ['a patch that was cut off', { input: '*** Begin Patch\n*** Add File: a\n+text' }, notPatch({ kind: 'no end' })],
    ['an empty patch', { input: '*** Begin Patch\n*** End Patch' }, notPatch({ kind: 'no files' })],
    ['text behind it', { input: '*** Begin Patch\n*** Add File: a\n+b\n*** End Patch\nrm a' }, notPatch({ kind: 'text after end' })], // prettier-ignore
    ['a line without a sign', { input: '*** Begin Patch\n*** Update File: a\n@@\nfoo\n*** End Patch' }, notPatch({ kind: 'no sign', line: 4, text: 'foo' })], // prettier-ignore
    ['an added line without a plus', { input: '*** Begin Patch\n*** Add File: a\nfoo\n*** End Patch' }, notPatch({ kind: 'no plus', line: 3, text: 'foo' })], // prettier-ignore
    ['no section', { input: '*** Begin Patch\nfoo\n*** End Patch' }, notPatch({ kind: 'no header', line: 2, text: 'foo' })], // prettier-ignore
    ['no path', { input: '*** Begin Patch\n*** Add File:\n+a\n*** End Patch' }, notPatch({ kind: 'no path', line: 2 })],
    ['a NUL', { input: '*** Begin Patch\n*** Add File: a\0b\n+a\n*** End Patch' }, notPatch({ kind: 'bad path', line: 2 })], // prettier-ignore
    ['no hunk', { input: '*** Begin Patch\n*** Update File: a\n*** End Patch' }, notPatch({ kind: 'no hunks', line: 2, path: 'a' })], // prettier-ignore
  ])('with %s is rejected', async (_name, input, message) => {
    const { use, tree } = patching({ a: 'one\n' })
    expect(await use('apply_patch', input)).toMatchObject({ isError: true, text: message })
    expect(tree()).toEqual({ a: 'one\n' })
  })
})

describe('a hunk', () => {
  const file = 'class A\n  run\n  end\nclass B\n  run\n  end\n'

  test('with an anchor is placed below it', async () => {
    const { patch, tree } = patching({ a: file })
    await patch('*** Update File: a\n@@ class B\n-  run\n+  walk')
    expect(tree()).toEqual({ a: 'class A\n  run\n  end\nclass B\n  walk\n  end\n' })
  })

  test('with several anchors is placed below the innermost', async () => {
    const { patch, tree } = patching({ a: `${file}class B\n  run\n` })
    await patch('*** Update File: a\n@@ class B\n@@   end\n class B\n-  run\n+  fly')
    expect(tree()).toEqual({ a: `${file}class B\n  fly\n` })
  })

  test('that only adds goes below its anchor, otherwise to the end', async () => {
    const { patch, tree } = patching({ a: 'one\ntwo\n', b: 'one\ntwo' })
    await patch('*** Update File: a\n@@ one\n+1.5\n@@\n+three\n*** Update File: b\n@@\n+three')
    expect(tree()).toEqual({ a: 'one\n1.5\ntwo\nthree\n', b: 'one\ntwo\nthree' })
  })

  test.each([
    ['line ends', 'one  \ntwo\n', ' one\n-two\n+2', 'one  \n2\n'],
    ['blanks', '\tone\n\ttwo\n', ' one\n-two\n+\t2', '\tone\n\t2\n'],
    ['punctuation', 'say “hi”\ntwo – 2\n', ' say "hi"\n-two - 2\n+2', 'say “hi”\n2\n'],
  ] as const)('matches except for %s, which is reported', async (ignored, before, hunk, after) => {
    const { patch, tree, cwd } = patching({ a: before })
    const { text } = await patch(`*** Update File: a\n@@\n${hunk}`)
    expect(tree()).toEqual({ a: after })
    const inexact = [{ hunk: 1, line: 1, ignored }]
    expect(text).toBe(
      applied([{ kind: 'update', path: `${cwd}/a`, lines: { added: 1, removed: 1 }, inexact, notes: '' }]),
    )
  })

  test.each([
    ['nowhere', ' zzz\n-yyy\n+x', { hunk: 1, kind: 'not found', old: ['zzz', 'yyy'] }],
    ['in several places', '-  run\n+  walk', { hunk: 1, kind: 'several', lines: [2, 5], count: 2 }],
    ['above the one before it', '-class B\n+class C\n@@\n-class A\n+class D', { hunk: 2, kind: 'unordered', line: 1 }],
    ['not at the end', '-class A\n+class C\n*** End of File', { hunk: 1, kind: 'elsewhere', old: ['class A'] }],
    ['below a line that is missing', ' @@', { hunk: 1, kind: 'nothing changed' }],
  ] as const)('that matches %s changes nothing', async (_name, hunk, why) => {
    const { patch, tree, cwd } = patching({ a: file, b: 'b\n' })
    const result = await patch(`*** Update File: b\n@@\n-b\n+c\n*** Update File: a\n@@\n${hunk}`)
    const problem = misplaced(`${cwd}/a`, why, '')
    expect(result.isError).toBe(true)
    expect(result.text.startsWith(notApplied([problem]))).toBe(true)
    expect(tree()).toEqual({ a: file, b: 'b\n' })
  })

  test('changes a file of 300,000 lines', async () => {
    const lines = 'x\n'.repeat(300_000)
    const { patch, tree } = patching({ 'a.txt': `first\n${lines}last\n` })
    const { isError } = await patch('*** Update File: a.txt\n@@\n-first\n+1\n@@\n-last\n+2')
    expect([isError, tree()['a.txt'] === `1\n${lines}2\n`]).toEqual([false, true])
  })

  test('that matches nowhere is answered with the most similar lines', async () => {
    const { patch, cwd } = patching({ a: 'alpha beta\ngamma delta\nepsilon\n' })
    const old = ['alpha beta', 'gamma deltas']
    const { text } = await patch(`*** Update File: a\n@@\n ${old[0]}\n-${old[1]}\n+x`)
    const nearest = '     1\talpha beta\n     2\tgamma delta'
    expect(text).toBe(notApplied([misplaced(`${cwd}/a`, { hunk: 1, kind: 'not found', old }, nearest)]))
  })

  test('preserves encodings, byte order marks and line ends', async () => {
    const { cwd, patch } = patching()
    const bytes = (text: string): Buffer => Buffer.from(`\uFEFF${text}`, 'utf16le')
    writeFileSync(join(cwd, 'a'), bytes('one\r\ntwo\r\nthree'))
    await patch('*** Update File: a\n@@\n one\n-two\n+2\n+zwei\n three')
    expect(readFileSync(join(cwd, 'a'))).toEqual(bytes('one\r\n2\r\nzwei\r\nthree'))
  })
})

describe('what is not possible is rejected, and nothing changes', () => {
  test.each([
    [
      'two sections for one file',
      '*** Update File: a\n@@\n-one\n+1\n*** Delete File: ./a',
      (cwd: string) => sameFile(`${cwd}/a`),
    ],
    [
      'the same file by a link',
      '*** Update File: a\n@@\n-one\n+1\n*** Update File: link\n@@\n-one\n+2',
      (cwd: string) => sameFile(`${cwd}/link`),
    ],
    [
      'a file in a file',
      '*** Add File: n\n+a\n*** Add File: n/m\n+b',
      (cwd: string) => insideOther(`${cwd}/n/m`, `${cwd}/n`),
    ],
    ['adding what exists', '*** Add File: a\n+b', (cwd: string) => existsAlready(`${cwd}/a`)],
    ['deleting what is missing', '*** Delete File: zzz', (cwd: string) => missing(`${cwd}/zzz`, '', everyTool)],
    [
      'updating what is missing',
      '*** Update File: zzz\n@@\n-a\n+b',
      (cwd: string) => missing(`${cwd}/zzz`, '', everyTool),
    ],
    [
      'moving onto what exists',
      '*** Update File: a\n*** Move to: b',
      (cwd: string) => targetExists(`${cwd}/a`, `${cwd}/b`),
    ],
    ['deleting a link', '*** Delete File: link', (cwd: string) => isLink(`${cwd}/link`, `${cwd}/a`, everyTool)],
    [
      'moving a link',
      '*** Update File: link\n*** Move to: c',
      (cwd: string) => isLink(`${cwd}/link`, `${cwd}/a`, everyTool),
    ],
    ['deleting what was not read', '*** Delete File: a', (cwd: string) => unread(`${cwd}/a`, everyTool)],
  ] as const)('%s', async (_name, body, message) => {
    // prettier-ignore
    const { cwd, patch, tree } = patching({ a: 'one\n', b: 'two\n' })
    symlinkSync('a', join(cwd, 'link'))
    const before = tree()
    expect(await patch(`*** Add File: other\n+x\n${body}`)).toMatchObject({
      isError: true,
      text: notApplied([message(cwd)]),
    })
    expect(tree()).toEqual(before)
  })

  test('rejects deleting a file that has changed since it was read', async () => {
    const { cwd, patch, use } = patching({ a: 'one\n' })
    await use('Read', { file_path: 'a' })
    writeFileSync(join(cwd, 'a'), 'another\n')
    expect((await patch('*** Delete File: a')).text).toContain(changedSince(`${cwd}/a`))
  })

  test('does not compare a file that must not be read', async () => {
    const { cwd, patch } = patching({ secret: 'key\n' }, { hides: (path) => path.endsWith('/secret') })
    const { text } = await patch('*** Update File: secret\n@@\n-kex\n+x')
    expect(text).toBe(notApplied([hiddenFile(`${cwd}/secret`)]))
  })

  test('quotes a file that needs permission to be read only if it was read', async () => {
    const { cwd, use, patch } = patching({ secret: 'key=1234\n' }, { asksToRead: (path) => path.endsWith('/secret') })
    const why = { hunk: 1, kind: 'not found', old: [] } as const
    const wrong = '*** Update File: secret\n@@\n-key=123\n+x'
    expect((await patch(wrong)).text).toBe(notApplied([misplaced(`${cwd}/secret`, why, '')]))
    await use('Read', { file_path: 'secret' })
    expect((await patch(wrong)).text).toContain('key=1234')
  })
})

test('follows a link to its target', async () => {
  const { cwd, patch, tree } = patching({ a: 'one\n' })
  symlinkSync('a', join(cwd, 'link'))
  await patch('*** Update File: link\n@@\n-one\n+1')
  expect(tree()).toEqual({ a: '1\n' })
})

describe('a write that fails halfway', () => {
  test('restores the files that were written before', async () => {
    const checkpoints = new FileCheckpoints({ folder: temporaryFolder(), cwd: temporaryFolder() })
    const { cwd, workspace, patch, use, tree } = patching(
      { a: 'one\n', b: 'one\n', c: 'one\n', d: 'd\n' },
      { checkpoints },
    )
    await use('Read', { file_path: 'd' })
    const before = tree()
    let writes = 0
    workspace.editor = {
      write: async (path) => {
        writes += 1
        if (path.endsWith('/c')) throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
        return false
      },
    }
    const result = await patch(
      '*** Add File: new/file\n+x\n*** Update File: a\n@@\n-one\n+1\n*** Update File: b\n*** Move to: e\n@@\n-one\n+1\n' +
        '*** Delete File: d\n*** Update File: c\n@@\n-one\n+1',
    )
    expect(writes).toBeGreaterThan(3)
    expect(result.isError).toBe(true)
    expect(result.text).toMatch(
      /^The patch was not applied\. .*ENOSPC.*All files were restored: nothing was changed\.$/,
    )
    expect(tree()).toEqual(before)
    expect(existsSync(join(cwd, 'new'))).toBe(false)
  })

  test('reports what it could not restore', async () => {
    const { cwd, workspace, patch } = patching({ a: 'one\n', c: 'one\n' })
    workspace.editor = {
      write: async (path) => {
        if (!path.endsWith('/c')) return false
        writeFileSync(join(cwd, 'a'), 'by another program\n')
        throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
      },
    }
    const { text } = await patch('*** Update File: a\n@@\n-one\n+1\n*** Update File: c\n@@\n-one\n+1')
    expect(text).toContain(failedMidway('', [`${cwd}/a: another program changed it meanwhile`]).split('. ')[1])
    expect(text).toContain(`${cwd}/a`)
    expect(readFileSync(join(cwd, 'a'), 'utf8')).toBe('by another program\n')
  })
})

describe('random changes of random trees', () => {
  const line = fc.constantFrom('a', 'b', 'c', '', '  x', '}', 'same')
  const lines = fc.array(line, { minLength: 1, maxLength: 12 })
  const change = fc.oneof(
    fc.record({ kind: fc.constant('keep' as const), lines }),
    fc.record({ kind: fc.constant('add' as const), lines }),
    fc.record({ kind: fc.constant('delete' as const), lines }),
    fc.record({ kind: fc.constant('update' as const), lines, after: lines, moves: fc.boolean() }),
  )
  const changes = fc.array(change, { minLength: 1, maxLength: 6 })
  const textOf = (each: readonly string[]): string => each.map((one) => `${one}\n`).join('')

  /** A hunk for the whole file that preserves the lines that random texts share. */
  function wholeHunk(before: readonly string[], after: readonly string[]): string {
    let head = 0
    while (head < Math.min(before.length, after.length) && before[head] === after[head]) head += 1
    const kept = before.slice(0, head).map((one) => ` ${one}`)
    const old = before.slice(head).map((one) => `-${one}`)
    const added = after.slice(head).map((one) => `+${one}`)
    return ['@@', ...kept, ...old, ...added, '*** End of File'].join('\n')
  }

  test('produce exactly the changed tree, and with one broken hunk the original tree', async () => {
    await fc.assert(
      fc.asyncProperty(changes, fc.nat(), async (all, pick) => {
        const before: Record<string, string> = {}
        const after: Record<string, string> = {}
        const sections: string[] = []
        for (const [index, each] of all.entries()) {
          const path = `f${index % 2}/file${index}`
          if (each.kind !== 'add') before[path] = textOf(each.lines)
          if (each.kind === 'keep') after[path] = textOf(each.lines)
          if (each.kind === 'add') {
            after[path] = textOf(each.lines)
            sections.push(`*** Add File: ${path}\n${each.lines.map((one) => `+${one}`).join('\n')}`)
          }
          if (each.kind === 'delete') sections.push(`*** Delete File: ${path}`)
          if (each.kind !== 'update' || textOf(each.lines) === textOf(each.after)) {
            if (each.kind === 'update') after[path] = textOf(each.lines)
            continue
          }
          const target = each.moves ? `g/moved${index}` : path
          after[target] = textOf(each.after)
          const moved = each.moves ? `*** Move to: ${target}\n` : ''
          sections.push(`*** Update File: ${path}\n${moved}${wholeHunk(each.lines, each.after)}`)
        }
        if (sections.length === 0) return
        const cwd = temporaryFolder()
        const { patch, use, tree } = patching(before, { cwd })
        for (const [index, each] of all.entries())
          if (each.kind === 'delete') await use('Read', { file_path: `f${index % 2}/file${index}` })
        const at = pick % (sections.length + 1)
        const broken = `*** Update File: f0/missing${pick}\n@@\n-never\n+there`
        expect((await patch(sections.toSpliced(at, 0, broken).join('\n'))).isError).toBe(true)
        expect(tree()).toEqual(before)
        const { isError, text } = await patch(sections.join('\n'))
        expect([isError, text]).toEqual([false, text])
        expect(tree()).toEqual(after)
      }),
      { numRuns: isDeep ? 500 : 40 },
    )
  })

  test('with several hunks produce exactly the changed text, with any line ends', async () => {
    const edit = fc.record({
      at: fc.nat(39),
      removes: fc.nat(2),
      adds: fc.array(fc.constantFrom('new', '', '  y', '*** x'), { maxLength: 3 }),
    })
    const edits = fc.array(edit, { minLength: 1, maxLength: 6 })
    const form = fc.record({
      end: fc.constantFrom('\n', '\r\n'),
      isOpen: fc.boolean(),
      context: fc.integer({ min: 1, max: 3 }),
    })
    await fc.assert(
      fc.asyncProperty(edits, form, async (all, { end, isOpen, context }) => {
        const before = Array.from({ length: 40 }, (_, index) => `line ${index}`)
        const after = [...before]
        for (const { at, removes, adds } of all.toSorted((a, b) => b.at - a.at)) after.splice(at, removes, ...adds)
        const textIn = (lines: readonly string[]): string => lines.join(end) + (isOpen || lines.length === 0 ? '' : end)
        const plain = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('')
        const { hunks } = structuredPatch('', '', plain(before), plain(after), '', '', { context })
        if (hunks.length === 0) return
        const { patch, tree } = patching({ a: textIn(before) }, { cwd: temporaryFolder() })
        const body = hunks.map(({ lines }) => `@@\n${lines.join('\n')}`).join('\n')
        const { text } = await patch(`*** Update File: a\n${body}`)
        expect([text, tree()]).toEqual([text, { a: textIn(after) }])
      }),
      { numRuns: isDeep ? 1000 : 80 },
    )
  })
})
