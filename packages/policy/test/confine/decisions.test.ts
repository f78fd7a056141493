// Holds R-WALL-3 to R-WALL-7 of docs/spec: which commands run confined, and which lines ask because a part of them would not.
import { nothingConfines } from '../../src/permissions/command-texts.ts'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createPermissions, type PermissionOptions, type RulePermissions } from '../../src/permissions/permissions.ts'
import type { WallPort } from '../../src/permissions/rule-book.ts'
import { SessionWall } from '../../src/sandbox/session-wall.ts'
import { detectWall, type WallMeans } from '../../src/sandbox/wall-means.ts'
import { bashCall } from '../judge/support.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const landlock: WallMeans = { kind: 'landlock', perl: '/usr/bin/perl', version: 7 }
const none: WallMeans = { kind: 'none', why: 'nothing is there' }
const off: WallMeans = { kind: 'off', why: 'it is off' }
const wallOf = (means: WallMeans): WallPort => ({
  means: () => means,
  reads: (path) => path.startsWith('/etc/hosts'),
})

function open(options: Partial<PermissionOptions> = {}): RulePermissions {
  return createPermissions({ cwd: temporaryFolder(), wall: wallOf(landlock), ...options })
}

/** The decision about a line, and its confinement. */
function outcomeOf(permissions: RulePermissions, command: string): readonly [string, string | undefined] {
  const decision = permissions.decide(bashCall(command))
  if (decision instanceof Promise) throw new Error('rules decide at once')
  return [decision.behavior, permissions.confinementOf({ callId: 'call_1', command })?.kind]
}

describe('With kernel confinement', () => {
  test.each(['ls', 'git status', 'cat a | head', 'for f in *.ts; do wc -l "$f"; done', 'x=$(pwd); echo "$x"'])(
    'a command that was judged read-only runs confined: %s',
    (command) => expect(outcomeOf(open(), command)).toEqual(['allow', 'read']),
  )

  test.each(['ps aux', 'ps -ef | grep node', 'uptime; free'])(
    'a command that inspects processes can see them: %s',
    (command) => expect(outcomeOf(open(), command)).toEqual(['allow', 'look']),
  )

  test('a command that shows sockets and open files of other processes runs unconfined in a plain line, and asks in any other', () => {
    for (const command of ['ss -tlnp', 'lsof -nP -iTCP -sTCP:LISTEN', 'ss -tln | grep LISTEN'])
      expect(outcomeOf(open(), command)).toEqual(['allow', undefined])
    for (const command of [
      "ss -tln; test -[v] 'a[$(touch M)]'",
      'ss -tlnp | grep "$x"',
      'ss -tlnp; git status',
      'echo $(ss -tlnp)',
    ])
      expect(outcomeOf(open(), command)[0]).toBe('ask')
  })

  test.each(['touch "it\'s" && echo $HOME', 'make && git status', 'make; x=$(pwd); echo "$x"', 'make && ls'])(
    'the offered rules allow the line: %s',
    (command) => {
      const allow = open().remedyFor(bashCall(command))?.rules ?? []
      expect(allow.length).toBeGreaterThan(0)
      expect(outcomeOf(open({ allow }), command)).toEqual(['allow', undefined])
    },
  )

  test('a command line that is not plain cannot see processes', () => {
    expect(outcomeOf(open(), 'ps aux | grep "$x"')).toEqual(['allow', 'read'])
  })

  test.each([
    'cat $FILE',
    'wc -l $(git ls-files)',
    "find . -name '*.ts' | xargs grep -l one",
    'git diff $(git config x.base)',
    'for f in $(ls); do head -1 $f; done',
    'sed -n "${n}p" a.ts',
    'cat /etc/hosts',
    'NAME=$(cat package.json); echo $NAME | xargs ls',
  ])('words that only the shell knows ask without confinement, and run with it: %s', (command) => {
    expect(outcomeOf(open(), command)).toEqual(['allow', 'read'])
    for (const means of [off, none]) expect(outcomeOf(open({ wall: wallOf(means) }), command)[0]).toBe('ask')
  })

  test.each([
    'cat /etc/shadow',
    'cat ../x',
    'rm $FILE',
    '$X',
    'touch $X',
    'sort $X -o out',
    'sed -i s/a/b/ $X',
    'find . $X -delete',
    'ls | xargs rm',
    'ls | xargs sh -c',
    'PATH=bin ls',
    'PATH=bin; ls',
    'LD_PRELOAD=./x.so; ls $X',
    'f() { ls; }; f',
    'ls &',
    'git push $X',
    'git $X',
    'cat $((x))',
    'grep -r x /proc',
  ])('a command without a grammar asks even with confinement: %s', (command) => {
    expect(outcomeOf(open(), command)[0]).toBe('ask')
  })

  test('rules, hooks, persons and modes let a command run unconfined', () => {
    expect(outcomeOf(open({ allow: ['Bash(ls)'] }), 'ls')).toEqual(['allow', undefined])
    expect(outcomeOf(open({ allow: ['Bash'] }), 'ls')).toEqual(['allow', undefined])
    expect(outcomeOf(open({ mode: 'bypassPermissions' }), 'ls')).toEqual(['allow', undefined])
    expect(outcomeOf(open({ sandbox: { holds: () => true }, wall: wallOf(off) }), 'ls')).toEqual(['allow', undefined])
    const permissions = open()
    expect(permissions.decide({ ...bashCall('ls'), hookDecision: 'allow' })).toEqual({ behavior: 'allow' })
    expect(permissions.confinementOf({ callId: 'call_1', command: 'ls' })).toBeUndefined()
    // It asks, so only a person can allow it.
    expect(outcomeOf(permissions, 'npm test')).toEqual(['ask', undefined])
  })

  test('a command that a person enters as a replacement is judged separately', () => {
    const permissions = open()
    expect(outcomeOf(permissions, 'npm test')).toEqual(['ask', undefined])
    expect(permissions.confinementOf({ callId: 'call_1', command: 'npm run build' })).toBeUndefined()
    expect(permissions.confinementOf({ callId: 'call_1', command: 'ls' })?.kind).toBe('read')
  })

  test('two calls with the same id stay confined', () => {
    const permissions = open()
    void permissions.decide(bashCall('ls'))
    void permissions.decide(bashCall('npm test'))
    expect(permissions.confinementOf({ callId: 'call_1', command: 'ls' })?.kind).toBe('read')
  })

  test('a call that another process asked about is judged by its command', () => {
    const permissions = open({ allow: ['Bash(npm test)'] })
    expect(permissions.confinementOf({ callId: 'resumed', command: 'ls' })?.kind).toBe('read')
    expect(permissions.confinementOf({ callId: 'resumed', command: 'npm test' })).toBeUndefined()
    expect(permissions.confinementOf({ callId: 'resumed', command: 'touch x' })).toBeUndefined()
  })

  test('calls of subagents are distinguished', () => {
    const permissions = open({ allow: ['Bash(ls)'] })
    void permissions.decide({ ...bashCall('pwd'), agentId: 'one' })
    void permissions.decide(bashCall('ls'))
    expect(permissions.confinementOf({ callId: 'call_1', agentId: 'one', command: 'pwd' })?.kind).toBe('read')
    expect(permissions.confinementOf({ callId: 'call_1', command: 'ls' })).toBeUndefined()
  })

  test('plan mode runs confined commands', () => {
    expect(outcomeOf(open({ mode: 'plan' }), 'wc -l $(git ls-files)')).toEqual(['allow', 'read'])
    expect(outcomeOf(open({ mode: 'plan' }), 'touch x')[0]).toBe('deny')
  })

  test('deny rules remain in force: words that only the shell knows ask', () => {
    const permissions = open({ deny: ['Read(.env)'] })
    expect(outcomeOf(permissions, 'cat $FILE')[0]).toBe('ask')
    expect(outcomeOf(permissions, 'cat .env')[0]).toBe('deny')
    expect(outcomeOf(permissions, "find . -name '*.ts' | xargs grep x")[0]).toBe('ask')
  })

  test('only paths that rules open are readable', () => {
    const cwd = temporaryFolder()
    const readable = (allow: readonly string[]): readonly string[] => {
      const permissions = createPermissions({ cwd, wall: wallOf(landlock), allow })
      void permissions.decide(bashCall('ls'))
      return permissions.confinementOf({ callId: 'call_1', command: 'ls' })?.readable ?? []
    }
    expect(readable([])).toEqual([cwd])
    expect(readable(['Read(//srv/data/**)', 'Edit(//srv/other/**)', 'Read(//srv/one.txt)'])).toEqual([
      cwd,
      '/srv/data',
      '/srv/one.txt',
    ])
    // If a pattern matches some files of a folder, the others remain closed.
    expect(readable(['Read(~/*.md)', 'Read(//**/*.md)', 'Read(//srv/data/**/*.csv)'])).toEqual([cwd])
    expect(readable(['Read'])).toEqual([cwd, '/'])
  })
})

describe('Lines in which one part has a rule', () => {
  const rules = { allow: ['Bash(npm test)', 'Bash(git add:*)'] }
  test.each([
    'npm test | tail -20',
    'npm test 2>&1 | head -5 | grep -v x',
    'cd src && npm test',
    'npm test; echo done',
    'npm test || true',
    "npm test | grep -E 'a|b'",
    'npm test > /dev/null && echo "all is well"',
  ])('run if the line is plain and the rest is harmless: %s', (command) => {
    for (const means of [landlock, none, off])
      expect(outcomeOf(open({ ...rules, wall: wallOf(means) }), command)).toEqual(['allow', undefined])
  })

  test.each([
    'npm test; git status',
    "npm test; test -[v] 'a[$(touch M)]'",
    "npm test; [ ?v 'a[0]' ]",
    'npm test && find . -name x',
    'npm test | sed p',
    'npm test; echo "$HOME"',
    'npm test; ls "$PWD"',
    'for f in a b; do npm test; done; echo \\x',
  ])('ask otherwise: %s', (command) => {
    for (const means of [landlock, none])
      expect(outcomeOf(open({ ...rules, wall: wallOf(means) }), command)[0]).toBe('ask')
    // Without confinement (by choice, or on other systems), commands run if they were judged read-only.
    const isUnseen = /^npm test; (?:test|\[) /.test(command)
    expect(outcomeOf(open({ ...rules, wall: wallOf(off) }), command)[0]).toBe(isUnseen ? 'ask' : 'allow')
  })

  test('run with the offered rules', () => {
    const permissions = open(rules)
    expect(permissions.remedyFor(bashCall('npm test; git status'))).toEqual({
      rules: ['Bash(git status)'],
    })
    expect(outcomeOf(open({ allow: ['Bash(npm test)', 'Bash(git status)'] }), 'npm test; git status')).toEqual([
      'allow',
      undefined,
    ])
  })
})

describe('Without any confinement', () => {
  test.each(['ls', 'git status', 'cat a.ts | head -5', "grep -rn 'x' src && ls *.ts", 'git log --oneline | wc -l'])(
    'a plain line runs: %s',
    (command) => expect(outcomeOf(open({ wall: wallOf(none) }), command)).toEqual(['allow', undefined]),
  )

  test.each(['echo "$HOME"', 'x=$(pwd); echo "$x"', 'for f in a b; do cat "$f"; done', 'cat <(ls)', "echo $'a'"])(
    'any other line asks and gives the reason: %s',
    (command) => {
      const permissions = open({ wall: wallOf(none) })
      const decision = permissions.decide(bashCall(command))
      expect(decision).toMatchObject({
        behavior: 'ask',
        message: expect.stringContaining(nothingConfines(none.why)),
      })
    },
  )
})

describe('Detection of confinement', () => {
  test('finds none on other systems, where commands run if they were judged read-only', () => {
    expect(detectWall({ path: '/usr/bin', writable: [], platform: 'darwin' })).toMatchObject({ kind: 'off' })
  })

  test('uses no program from a folder that commands can write', () => {
    const folder = temporaryFolder()
    for (const name of ['perl', 'bwrap']) writeFileSync(join(folder, name), '#!/bin/sh\necho 7\n', { mode: 0o755 })
    const means = detectWall({ path: folder, writable: [folder, '/usr'] })
    expect(means.kind === 'landlock' ? means.perl : means.kind).toBe(process.platform === 'linux' ? 'none' : 'off')
  })

  test('runs once on first use, and stores its result until the next boot', () => {
    const configFolder = join(temporaryFolder(), 'config')
    const options = { home: '/', configFolder, path: process.env['PATH'] ?? '', writable: [], isSandboxed: () => false }
    const wall = new SessionWall({ ...options, setting: 'auto' })
    const means = wall.means()
    // No folder is created for it.
    expect(existsSync(configFolder)).toBe(false)
    mkdirSync(configFolder)
    expect(new SessionWall({ ...options, setting: 'auto' }).means()).toEqual(means)
    if (means.kind === 'none' || means.kind === 'off') return
    const file = join(configFolder, 'confinement.json')
    const stored = JSON.parse(readFileSync(file, 'utf8'))
    expect(stored).toMatchObject({
      kind: means.kind,
      circumstances: expect.stringContaining(readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()),
    })
    // A stored result of another boot, a damaged one, or one that names another program is detected again.
    for (const text of [
      JSON.stringify({ ...stored, circumstances: 'x' }),
      '{',
      '[]',
      JSON.stringify({ ...stored, perl: '/tmp/evil', file: '/tmp/evil' }),
    ]) {
      writeFileSync(file, text)
      expect(detectWall({ ...options, memory: file })).toEqual(means)
    }
  })

  test('is off if a setting says so, or if a sandbox confines all commands', () => {
    const options = { home: '/', configFolder: '/nowhere', path: '', writable: [] }
    expect(new SessionWall({ ...options, setting: 'off', isSandboxed: () => false }).means().kind).toBe('off')
    expect(new SessionWall({ ...options, setting: 'auto', isSandboxed: () => true }).means().kind).toBe('off')
  })

  test('works without a writable folder, and only takes longer', () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'config'), '')
    mkdirSync(join(folder, 'other'))
    const means = detectWall({
      path: process.env['PATH'] ?? '',
      writable: [],
      memory: join(folder, 'config/confinement.json'),
    })
    expect(means).toEqual(detectWall({ path: process.env['PATH'] ?? '', writable: [] }))
  })
})
