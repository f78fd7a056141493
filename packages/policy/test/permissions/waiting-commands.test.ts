// Holds R-WAIT-13 and R-WAIT-14 of docs/spec: what Wait polls is judged as Bash and Read judge it.
import type { PermissionRequest } from '@halting/core'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createPermissions, type PermissionOptions } from '../../src/permissions/permissions.ts'
import { isReadOnlyCommand } from '../../src/shell/read-only.ts'
import { readCorpus } from '../judge/corpus/read-corpus.ts'

const cwd = '/nowhere/project'

function requestOf(name: string, input: PermissionRequest['call']['input'], readOnly: boolean): PermissionRequest {
  const tool = { name, description: '', inputSchema: {}, readOnly, execute: () => '' }
  return { call: { type: 'tool_use', id: 'c', name, input }, tool, readOnly }
}

/** All decisions of the rules about a call, without the name of its tool. */
async function decisionsOf(options: Partial<PermissionOptions>, request: PermissionRequest): Promise<unknown> {
  const permissions = createPermissions({ cwd, ...options })
  const decision = await permissions.decide(request)
  const said = [
    permissions.denies(request),
    decision,
    permissions.remedyFor(request),
    permissions.suggest?.(request),
    permissions.cause?.(request),
    permissions.confinementOf({ callId: 'c', command: String(Object(request.call.input).command) }),
  ]
  return JSON.parse(JSON.stringify(said).replaceAll(`Plan mode: ${request.call.name} is`, 'Plan mode: it is'))
}

const commands = [
  'curl -fs localhost:3000',
  'test -e done',
  'grep -q ready server.log',
  'cat /etc/shadow',
  'cat .env',
  'npm test && rm -rf /',
  'gh run view 7 --json status',
  'echo $(cat .env)',
  'sudo true',
  'ls > out',
  'git status',
  'docker ps | grep up',
]
const rules = [
  'Bash(curl *)',
  'Bash(gh run view *)',
  'Bash',
  'Read(.env)',
  'Bash(npm test)',
  'Edit(out)',
  'Read',
  'Bash(git status)',
]

test('a command of Wait is judged like one of Bash, under any rules and modes', async () => {
  const some = fc.subarray(rules)
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...commands),
      fc.record({ allow: some, deny: some, ask: some }),
      fc.constantFrom('default', 'acceptEdits', 'plan', 'dontAsk', 'bypassPermissions' as const),
      async (command, given, mode) => {
        const readOnly = isReadOnlyCommand(command)
        const options = { ...given, mode } as Partial<PermissionOptions>
        const [bash, wait] = [requestOf('Bash', { command }, readOnly), requestOf('Wait', { command }, readOnly)]
        expect(await decisionsOf(options, wait)).toEqual(await decisionsOf(options, bash))
      },
    ),
    { numRuns: 60 },
  )
})

test('every command in the corpus of attacks is judged like for Bash', async () => {
  // A sample: a single function judges them.
  for (const { command, deny, allow } of readCorpus('commands-denied').filter((_, index) => index % 5 === 0)) {
    const permissions = createPermissions({ cwd, deny, allow })
    const [bash, wait] = await Promise.all(
      ['Bash', 'Wait'].map(async (name) =>
        permissions.decide(requestOf(name, { command }, isReadOnlyCommand(command))),
      ),
    )
    expect([command, wait?.behavior]).toEqual([command, bash?.behavior])
  }
})

describe('rules for Wait itself', () => {
  const command = { command: 'curl -fs localhost:3000' }
  test('remove the tool, and let no command run', async () => {
    const decided = async (options: Partial<PermissionOptions>, input: PermissionRequest['call']['input']) =>
      (await createPermissions({ cwd, ...options }).decide(requestOf('Wait', input, true))).behavior
    expect(await decided({ deny: ['Wait'] }, { seconds: 1 })).toBe('deny')
    expect(await decided({ deny: ['Wait'], allow: ['Bash'] }, command)).toBe('deny')
    expect(await decided({ allow: ['Wait'] }, command)).toBe('ask')
    expect(await decided({}, { seconds: 1 })).toBe('allow')
    expect(await decided({ mode: 'plan' }, { task_id: 'bash_1' })).toBe('allow')
  })

  test('a file is judged like one that is read', async () => {
    const decided = async (options: Partial<PermissionOptions>, file_path: string) => {
      const permissions = createPermissions({ cwd, ...options })
      const request = requestOf('Wait', { file_path }, true)
      return permissions.denies(request) !== undefined ? 'deny' : (await permissions.decide(request)).behavior
    }
    expect(await decided({}, 'out/done')).toBe('allow')
    expect(await decided({}, '/etc/shadow')).toBe('ask')
    expect(await decided({ allow: ['Read(//srv/app.pid)'] }, '/srv/app.pid')).toBe('allow')
    expect(await decided({ deny: ['Read(.env)'] }, '.env')).toBe('deny')
    expect(await decided({ deny: ['Read'] }, 'a')).toBe('deny')
  })
})
