// Holds rules of docs/spec: R-PATCH-2 and R-PATCH-3: a patch of several files is as many edits.
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createCodingTools, Workspace } from '@halting/agent'
import type { PermissionRequest } from '@halting/core'
import { AgentState } from '@halting/core'
import { createPermissions, type PermissionOptions, type RulePermissions } from '@halting/policy'
import { describe, expect, test } from 'vitest'
import { matchedNames } from '../src/hooks/matcher.ts'
import { toolFields } from '../src/hooks/inputs.ts'
import { temporaryFolder, toolNamed } from './support/harness.ts'

/** Sections of a patch, one for each kind of change; each of them changes one file. */
const sections = {
  add: (path: string) => `*** Add File: ${path}\n+x`,
  update: (path: string) => `*** Update File: ${path}\n@@\n-a\n+b`,
  delete: (path: string) => `*** Delete File: ${path}`,
  'move from': (path: string) => `*** Update File: ${path}\n*** Move to: ok/target`,
  'move to': (path: string) => `*** Update File: ok/source\n*** Move to: ${path}`,
} as const
const kinds = Object.keys(sections) as readonly (keyof typeof sections)[]

function patchOf(...parts: readonly string[]): { readonly input: string } {
  return { input: `*** Begin Patch\n${parts.join('\n')}\n*** End Patch` }
}

interface Asker {
  readonly cwd: string
  readonly permissions: RulePermissions
  readonly behavior: (input: unknown, more?: Partial<PermissionRequest>) => string
  readonly request: (input: unknown, more?: Partial<PermissionRequest>) => PermissionRequest
}

function asker(options: Partial<PermissionOptions> = {}): Asker {
  const cwd = options.cwd ?? temporaryFolder()
  const permissions = createPermissions({ cwd, ...options })
  const tool = toolNamed(createCodingTools({ cwd }, { toolProfile: 'codex' }), 'apply_patch')
  const request = (input: unknown, more: Partial<PermissionRequest> = {}): PermissionRequest => ({
    call: { type: 'tool_use', id: 'call_1', name: 'apply_patch', input },
    tool,
    readOnly: false,
    ...more,
  })
  const behavior = (input: unknown, more?: Partial<PermissionRequest>): string => {
    const decision = permissions.decide(request(input, more))
    if (decision instanceof Promise) throw new Error('rules decide at once')
    return decision.behavior
  }
  return { cwd, permissions, behavior, request }
}

const contextOfCall = {
  callId: 'call_1',
  toolName: 'apply_patch',
  signal: new AbortController().signal,
  idempotencyKey: 'key',
  progress: () => undefined,
  state: AgentState.empty(),
}

const fine = [sections.add('ok/one'), sections.update('ok/two')]

describe.each(kinds)('one file of a patch (%s) decides about the whole patch', (kind) => {
  const places = [0, 1, 2]
  const patches = (path: string): readonly unknown[] =>
    places.map((at) => patchOf(...fine.toSpliced(at, 0, sections[kind](path))))

  test.each(['Edit(secret/**)', 'Edit(secret/file)', 'apply_patch(secret/**)', 'Edit', 'apply_patch'])(
    'the deny rule %s',
    (rule) => {
      const { behavior, permissions, request } = asker({ allow: ['Edit'], deny: [rule], mode: 'bypassPermissions' })
      for (const patch of patches('secret/file')) {
        expect(behavior(patch)).toBe('deny')
        expect(permissions.denies(request(patch))).toContain(rule)
        // No hook outranks it.
        expect(behavior(patch, { hookDecision: 'allow' })).toBe('deny')
      }
    },
  )

  test('ask rules', () => {
    const { behavior } = asker({ allow: ['Edit'], ask: ['Edit(secret/**)'], mode: 'bypassPermissions' })
    for (const patch of patches('secret/file')) expect(behavior(patch)).toBe('ask')
    expect(behavior(patchOf(...fine))).toBe('allow')
  })

  test('allow rules', () => {
    const { behavior, permissions, request } = asker({ allow: ['Edit(ok/**)'] })
    expect(behavior(patchOf(...fine))).toBe('allow')
    for (const patch of patches('other/file')) {
      expect(behavior(patch)).toBe('ask')
      const remedy = permissions.remedyFor(request(patch))
      expect(remedy).toEqual({ rules: ['Edit(/other/file)'] })
    }
  })

  test('modes: acceptEdits allows what is inside and not protected, plan nothing', () => {
    const outside = join(temporaryFolder(), 'file')
    const { behavior } = asker({ mode: 'acceptEdits' })
    expect(behavior(patchOf(...fine))).toBe('allow')
    for (const path of ['../file', outside, '.git/hooks/pre-commit', '.halting/settings.json', 'a/../../file'])
      for (const patch of patches(path)) expect([path, behavior(patch)]).toEqual([path, 'ask'])
    const planning = asker({ mode: 'plan', allow: ['Edit'] })
    for (const patch of patches('ok/file')) expect(planning.behavior(patch)).toBe('deny')
  })

  test('rules apply to both ends of a link', () => {
    const cwd = temporaryFolder()
    mkdirSync(join(cwd, 'secret'))
    writeFileSync(join(cwd, 'secret/file'), 'x')
    symlinkSync('secret', join(cwd, 'link'))
    const { behavior } = asker({ cwd, allow: ['Edit'], deny: ['Edit(secret/**)'] })
    for (const patch of patches('link/file')) expect(behavior(patch)).toBe('deny')
  })
})

test('rules for Write apply to files that a patch adds or moves to', () => {
  const { behavior } = asker({ allow: ['Edit'], deny: ['Write(src/**)'] })
  const of = (kind: keyof typeof sections): string => behavior(patchOf(sections[kind]('src/a')))
  expect(Object.fromEntries(kinds.map((kind) => [kind, of(kind)]))).toEqual({
    add: 'deny',
    update: 'allow',
    delete: 'allow',
    'move from': 'allow',
    'move to': 'deny',
  })
})

test('rules that deny reading a file apply to moving it', () => {
  const { behavior, cwd, permissions } = asker({ mode: 'acceptEdits', ask: ['Read(.env)'], deny: ['Read(*.key)'] })
  const move = (path: string): string => behavior(patchOf(sections.add('one'), sections['move from'](path)))
  expect([move('.env'), move('a.key'), move('other')]).toEqual(['ask', 'deny', 'allow'])
  expect(behavior(patchOf(sections.update('.env')))).toBe('allow')
  expect(['.env', 'other'].map((name) => permissions.asksToRead(join(cwd, name)))).toEqual([true, false])
})

test('no request fails with quoted lines of a file that needs permission to be read', async () => {
  const { cwd, permissions, request } = asker({ ask: ['Read(.env)'] })
  writeFileSync(join(cwd, '.env'), 'KEY=1234\n')
  const workspace = new Workspace({ cwd, asksToRead: (path, rights) => permissions.asksToRead(path, rights) })
  const tool = toolNamed(createCodingTools(workspace, { toolProfile: 'codex' }), 'apply_patch')
  const input = patchOf('*** Update File: .env\n@@\n-KEY=123\n+x')
  expect(permissions.decide(request(input))).toMatchObject({ behavior: 'ask' })
  expect(await tool.precheck?.(input as never, contextOfCall)).toBeUndefined()
  await workspace.dispose()
})

test('asks for missing permissions of several files together', () => {
  const { permissions, request, behavior } = asker()
  const patch = patchOf(sections.add('a'), sections.update('b'))
  expect(behavior(patch)).toBe('ask')
  expect(permissions.remedyFor(request(patch))).toEqual({ rules: ['Edit(/a)', 'Edit(/b)'] })
  expect(permissions.suggest?.(request(patch))?.map(({ type }) => type)).toEqual(['addRules', 'setMode'])
  permissions.addRules('allow', ['Edit(/a)', 'Edit(/b)'])
  expect(behavior(patch)).toBe('allow')
})

test('a bare deny rule for Edit removes the tool, one for Write does not', () => {
  const hidden = (...deny: readonly string[]): readonly string[] =>
    asker({ deny }).permissions.toolsHiddenByDeny(['apply_patch', 'Read'])
  expect([hidden('Edit'), hidden('Edit', 'Write'), hidden('apply_patch'), hidden('Write')]).toEqual([
    ['apply_patch'],
    ['apply_patch'],
    ['apply_patch'],
    [],
  ])
})

test('does not write to a folder that became a link after the patch was judged', async () => {
  const cwd = temporaryFolder()
  const outside = temporaryFolder()
  const { permissions, request } = asker({ cwd, allow: ['Edit'] })
  const workspace = new Workspace({ cwd, judged: (id, agent, path) => permissions.judgedPath(id, agent, path) })
  const tool = toolNamed(createCodingTools(workspace, { toolProfile: 'codex' }), 'apply_patch')
  const input = patchOf(sections.add('one'), sections.add('folder/two'))
  expect(permissions.decide(request(input))).toEqual({ behavior: 'allow' })
  symlinkSync(outside, join(cwd, 'folder'))
  const output = await tool.execute(input as never, contextOfCall)
  expect(output).toMatchObject({ isError: true })
  await workspace.dispose()
})

test('does not abandon a judged look-alike file for a link with the written name', async () => {
  const cwd = temporaryFolder()
  const outside = join(temporaryFolder(), 'file')
  writeFileSync(outside, 'a\n')
  writeFileSync(join(cwd, 'a\u00A0b'), 'a\n')
  const { permissions, request } = asker({ cwd, allow: ['Edit(**)'] })
  const workspace = new Workspace({ cwd, judged: (id, agent, path) => permissions.judgedPath(id, agent, path) })
  const tool = toolNamed(createCodingTools(workspace, { toolProfile: 'codex' }), 'apply_patch')
  const input = patchOf(sections.add('one'), sections.update('a b'))
  expect(permissions.decide(request(input))).toEqual({ behavior: 'allow' })
  symlinkSync(outside, join(cwd, 'a b'))
  expect(await tool.execute(input as never, contextOfCall)).toMatchObject({ isError: true })
  expect(readFileSync(outside, 'utf8')).toBe('a\n')
  await workspace.dispose()
})

test('calls hooks for Edit and Write, with the files', () => {
  expect(matchedNames('apply_patch')).toEqual(['apply_patch', 'Edit', 'Write'])
  const input = patchOf(sections.add('a'), sections['move from']('b'), sections.delete('c'))
  expect(toolFields({ name: 'apply_patch', input, id: 'call_1' })).toMatchObject({
    tool_name: 'apply_patch',
    tool_input: input,
    patch_files: [
      { file_path: 'a', change: 'add' },
      { file_path: 'b', change: 'update', move_to: 'ok/target' },
      { file_path: 'c', change: 'delete' },
    ],
  })
})
