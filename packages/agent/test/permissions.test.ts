// Holds rules of docs/spec: R-RULE-1 to R-RULE-8.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { createCodingTools } from '@halting/agent'
import { createPermissions, PermissionRuleError, type PermissionOptions, type RulePermissions } from '@halting/policy'
import type { AnyTool, PermissionDecision, PermissionRequest } from '@halting/core'
import { describe, expect, test } from 'vitest'
import { temporaryFolder, toolNamed } from './support/harness.ts'

type Options = Partial<PermissionOptions>

interface Asker {
  readonly cwd: string
  readonly permissions: RulePermissions
  readonly decide: (name: string, input: unknown, more?: Partial<PermissionRequest>) => PermissionDecision
  readonly denies: (name: string, input: unknown) => string | undefined
  /** Short form: the decision about a command. */
  readonly bash: (command: string) => PermissionDecision['behavior']
}

function asker(options: Options = {}, cwd: string = temporaryFolder()): Asker {
  const permissions = createPermissions({ cwd, ...options })
  const tools = createCodingTools({ cwd })
  const request = (name: string, input: unknown, more: Partial<PermissionRequest> = {}): PermissionRequest => {
    const tool: AnyTool = tools.some((candidate) => candidate.name === name) ? toolNamed(tools, name) : otherTool(name)
    const readOnly = typeof tool.readOnly === 'boolean' ? tool.readOnly : tool.readOnly(input as never)
    return { call: { type: 'tool_use', id: 'call_1', name, input }, tool, readOnly, ...more }
  }
  const decide = (name: string, input: unknown, more?: Partial<PermissionRequest>): PermissionDecision => {
    const decision = permissions.decide(request(name, input, more))
    if (decision instanceof Promise) throw new Error('rules decide at once')
    return decision
  }
  return {
    cwd,
    permissions,
    decide,
    denies: (name, input) => permissions.denies(request(name, input)),
    bash: (command) => decide('Bash', { command }).behavior,
  }
}

function otherTool(name: string): AnyTool {
  return { name, description: '', inputSchema: {}, readOnly: false, execute: () => '' }
}

describe('allowed without any rule', () => {
  test('reading inside the working directories, but no changes', () => {
    const other = temporaryFolder()
    const { decide, cwd } = asker({ additionalDirectories: [other] })
    const behaviors = [
      decide('Read', { file_path: 'a' }),
      decide('Read', { file_path: join(other, 'a') }),
      decide('Glob', { pattern: '*' }),
      decide('Grep', { pattern: 'x', path: 'src' }),
      decide('Read', { file_path: '/etc/passwd' }),
      decide('Read', { file_path: '../a' }),
      decide('Read', { file_path: `${cwd}-beside/a` }),
      decide('Grep', { pattern: 'x', path: '/etc' }),
      decide('Write', { file_path: 'a', content: '' }),
      decide('Edit', { file_path: 'a' }),
    ].map(({ behavior }) => behavior)
    expect(behaviors).toEqual(['allow', 'allow', 'allow', 'allow', 'ask', 'ask', 'ask', 'ask', 'ask', 'ask'])
  })

  test.each([
    'ls -la',
    'cat a.txt | grep x | wc -l',
    'pwd && echo done',
    'find . -name "*.ts" -type f',
    'git status && git log --oneline -5; git diff HEAD~1',
    'git -C src log',
    'head -n 5 a 2>/dev/null',
    'echo "$(pwd)"',
    'timeout 5 cat a',
    'command -v node',
    'grep -rn "/api/users" src',
    'cd src && ls',
    'ls *.ts',
    'LC_ALL=C ls',
    '[ -f a ] && cat a',
    'diff a b',
  ])('read-only: %s', (command) => {
    expect(asker().bash(command)).toBe('allow')
  })

  test.each([
    ['npm test', 'runs a program that is not known'],
    ['cat /etc/passwd', 'reads outside'],
    ['cat ../secret', 'reads outside'],
    ['cat ~/.ssh/id_rsa', 'reads outside'],
    ['cat $FILE', 'reads what nobody knows'],
    ['cat */../../x', 'climbs out through a pattern'],
    ['grep --file=/etc/passwd x', 'reads outside through an option'],
    ['cat < /etc/passwd', 'reads outside through a redirect'],
    ['cd / && cat etc/passwd', 'goes outside first'],
    ['cd "$X"; cat a', 'goes nobody knows where'],
    ['cd; ls', 'goes home'],
    ['ls | xargs cat', 'reads what comes in'],
    ['ls > out', 'writes'],
    ['ls >> out', 'writes'],
    ['ls &> out', 'writes'],
    ['find . -delete', 'deletes'],
    ['find . -exec rm {} +', 'runs'],
    ['find * -name x', 'a file may be called -delete'],
    ['find . $X', 'a variable may hold -delete'],
    ['git commit -m x', 'changes'],
    ['git branch new', 'changes'],
    ['git branch -D x', 'changes'],
    ['git diff --output=x', 'writes'],
    ['git log --outp x', 'writes, abbreviated'],
    ['git -c core.pager=evil log', 'runs what it configures'],
    ['git diff --no-index /etc/passwd a', 'reads outside'],
    ['git grep -Oevil x', 'runs a pager'],
    ['git -C / log', 'reads outside'],
    ['git config user.name x', 'changes'],
    ['PATH=. ls', 'changes what ls is'],
    ['PATH=.; ls', 'changes what ls is'],
    ['LD_PRELOAD=./x.so ls', 'loads code'],
    ['ls() { echo; }; ls', 'changes what ls is'],
    ['ls &', 'stays behind'],
    ['echo $(rm x)', 'runs inside a substitution'],
    ['echo `rm x`', 'runs inside backticks'],
    ['echo "${x:-$(rm x)}"', 'runs inside an expansion'],
    ['cat <<EOF\n$(rm x)\nEOF', 'runs inside a here document'],
    ["x='a[$(rm x)]'; echo $((x))", 'arithmetic evaluates it'],
    ["[[ 'a[$(rm x)]' -eq 1 ]]", 'arithmetic evaluates it'],
    ["test -v 'a[$(rm x)]'", 'a subscript is evaluated'],
    ["printf -v 'a[$(rm x)]' x", 'a subscript is evaluated'],
    ['echo "${!x}"', 'is indirect'],
    ['echo "${x@P}"', 'is evaluated again'],
    ['$CMD', 'has no name'],
    ['l{s,x}', 'has no name'],
    ['eval ls; eval "$X"', 'runs text'],
    ['bash -c "$X"', 'runs text'],
    ['diff <(./a) b', 'reads what a command makes'],
    [':(){ :|:& };:', 'never ends'],
    ['echo a \\\r\nrm x', 'is two lines for bash and one for others'],
    ['ls \u0001x', 'holds control characters'],
    ['echo "unterminated', 'cannot be parsed'],
    ['', 'is nothing'],
  ])('asks: %s (%s)', (command) => {
    expect(asker().bash(command)).toBe('ask')
  })

  test("tools of a server ask, whatever they declare; the session's own housekeeping does not", () => {
    const { decide } = asker()
    expect(decide('mcp__files__list', {}, { readOnly: true }).behavior).toBe('ask')
    expect(decide('WebFetch', { url: 'https://x.org/a', prompt: '' }, { readOnly: true })).toEqual({
      behavior: 'ask',
      message: 'no rule allows fetching from x.org. The rule WebFetch(domain:x.org) would allow it.',
    })
    expect(decide('TodoWrite', { todos: [] }).behavior).toBe('allow')
    expect(decide('TaskStop', { task_id: 'x' }).behavior).toBe('allow')
    expect(decide('custom', {}).behavior).toBe('ask')
    expect(decide('custom', {}, { readOnly: true }).behavior).toBe('allow')
  })
})

describe('allow rules', () => {
  test('must cover every part of a compound command', () => {
    const { bash } = asker({ allow: ['Bash(npm run test:*)', 'Bash(make)'] })
    expect(bash('npm run test -- --watch')).toBe('allow')
    expect(bash('npm run test && make && ls')).toBe('allow')
    expect(bash('npm run test; rm x')).toBe('ask')
    expect(bash('npm run test $(rm x)')).toBe('ask')
    expect(bash('npm run test\nrm x')).toBe('ask')
    expect(bash('npm run test | tee /etc/x')).toBe('ask')
    expect(bash('npm run tests')).toBe('ask')
    expect(bash("make 'x'")).toBe('ask')
    expect(bash("m'ak'e")).toBe('allow')
  })

  test('see through wrappers, as far as their options are known', () => {
    const { bash } = asker({ allow: ['Bash(npm test)'] })
    for (const wrapped of [
      'timeout 30s npm test',
      'timeout -k 5 30 npm test',
      'time npm test',
      'nice -n 5 npm test',
      'nohup npm test',
      'stdbuf -oL npm test',
      'command npm test',
      'xargs npm test',
      'nohup nice timeout 5 npm test',
    ]) {
      expect([wrapped, bash(wrapped)]).toEqual([wrapped, 'allow'])
    }
    for (const other of [
      'timeout --odd 5 npm test',
      'xargs -I{} npm test',
      'sudo npm test',
      'env npm test',
      'nice $X npm test',
      'time -o out npm test',
    ]) {
      expect([other, bash(other)]).toEqual([other, 'ask'])
    }
  })

  test('treat variables that change a command as part of it', () => {
    const { bash } = asker({ allow: ['Bash(make)', 'Bash(PATH=./bin make)', 'Bash(echo *)'] })
    expect(bash('NODE_ENV=test make')).toBe('allow')
    expect(bash('PATH=./evil make')).toBe('ask')
    expect(bash('PATH=./bin make')).toBe('allow')
    expect(bash('PATH=./evil; make')).toBe('ask')
    expect(bash('PATH=./evil; PATH=./bin make')).toBe('ask')
    expect(bash('for PATH in ./evil; do make; done')).toBe('ask')
    expect(bash('for file in a b; do echo $file; done')).toBe('allow')
    expect(bash("x='a[$(rm y)]'; echo $((x))")).toBe('ask')
  })

  test('treat redirects as edits', () => {
    const { bash } = asker({ allow: ['Bash(make)', 'Edit(/out/**)'] })
    expect(bash('make > out/log')).toBe('allow')
    expect(bash('make > log')).toBe('ask')
    expect(bash('make > "$LOG"')).toBe('ask')
    expect(bash('make 2>&1 >/dev/null')).toBe('allow')
    expect(bash('cd src && make > out/log')).toBe('ask')
    expect(bash('make > out/../log')).toBe('ask')
  })

  test('treat inline scripts as commands', () => {
    const { bash } = asker({ allow: ['Bash(bash -c *)', 'Bash(npm test)', 'Bash(find *)'] })
    expect(bash("bash -c 'npm test'")).toBe('allow')
    expect(bash("bash -c 'npm test; rm x'")).toBe('ask')
    expect(bash('find . -exec rm {} +')).toBe('ask')
    expect(bash("find . -exec cat {} ';'")).toBe('allow')
  })

  test('allow everything of a tool if bare', () => {
    const { bash } = asker({ allow: ['Bash'] })
    expect(bash('anything $(at all) > /etc/x')).toBe('allow')
    expect(bash('$X "unterminated')).toBe('allow')
    expect(asker({ allow: ['Bash'], deny: ['Bash(rm *)'] }).bash('$X "unterminated')).toBe('ask')
  })

  test('for paths: each form of pattern is relative to its own base folder', () => {
    const project = temporaryFolder()
    const cwd = join(project, 'packages')
    mkdirSync(join(cwd, 'src'), { recursive: true })
    const allows = (rule: string, file: string): boolean =>
      asker({ allow: [{ rule, projectDirectory: project }] }, cwd).decide('Edit', { file_path: file }).behavior ===
      'allow'
    expect(allows('Edit(/docs/**)', join(project, 'docs/a/b'))).toBe(true)
    expect(allows('Edit(/docs/**)', join(cwd, 'docs/a'))).toBe(false)
    expect(allows('Edit(./src/*.ts)', 'src/a.ts')).toBe(true)
    expect(allows('Edit(src)', 'src/deep/a.ts')).toBe(true)
    expect(allows('Edit(*.ts)', 'src/deep/a.ts')).toBe(true)
    expect(allows('Edit(*.ts)', join(project, 'a.ts'))).toBe(false)
    expect(allows('Edit(./*.ts)', 'src/a.ts')).toBe(false)
    expect(allows(`Edit(/${project}/x)`, join(project, 'x'))).toBe(true)
    expect(allows('Edit(//tmp-nowhere/**)', '/tmp-nowhere/a')).toBe(true)
    expect(allows('Edit(~/halting-nowhere/**)', '~/halting-nowhere/a')).toBe(true)
    expect(allows('Edit(~/halting-nowhere/**)', join(homedir(), 'halting-nowhere/a'))).toBe(true)
    expect(allows('Edit(src/**)', 'src/../a')).toBe(false)
  })

  test('for Edit cover Write, for Read cover Grep and Glob; other names', () => {
    const { decide } = asker({
      allow: ['Edit(a)', 'Read(//etc/**)', 'WebFetch(domain:*.x.org)', 'mcp__files', 'mcp__git__log', 'Agent(Explore)'],
    })
    expect(decide('Write', { file_path: 'a', content: '' }).behavior).toBe('allow')
    expect(decide('Grep', { pattern: 'x', path: '/etc/ssl' }).behavior).toBe('allow')
    expect(decide('WebFetch', { url: 'https://docs.x.org/a' }).behavior).toBe('allow')
    expect(decide('WebFetch', { url: 'https://evil.org/?docs.x.org' }).behavior).toBe('ask')
    expect(decide('mcp__files__write', {}).behavior).toBe('allow')
    expect(decide('mcp__filesystem__write', {}).behavior).toBe('ask')
    expect(decide('mcp__git__push', {}).behavior).toBe('ask')
  })
})

describe('deny rules win', () => {
  test('over allow rules, hooks and every mode', () => {
    for (const mode of ['default', 'acceptEdits', 'plan', 'dontAsk', 'bypassPermissions'] as const) {
      const { decide, denies } = asker({
        mode,
        allow: ['Bash', 'Edit', 'Read'],
        deny: ['Bash(rm *)', 'Edit(.env)', 'Read(secret/**)'],
      })
      for (const [name, input] of [
        ['Bash', { command: 'ls && rm -rf x' }],
        ['Bash', { command: 'echo x > .env' }],
        ['Edit', { file_path: '.env' }],
        ['Write', { file_path: 'deep/.env', content: '' }],
        ['Read', { file_path: 'secret/key' }],
        ['Grep', { pattern: 'x', path: 'secret' }],
        ['Bash', { command: 'cat secret/key' }],
      ] as const) {
        expect([mode, name, input, decide(name, input, { hookDecision: 'allow' }).behavior]).toEqual([
          mode,
          name,
          input,
          'deny',
        ])
        expect(denies(name, input)).toMatch(/^Denied by the rule/)
      }
      expect(denies('Bash', { command: 'ls' })).toBeUndefined()
    }
  })

  test.each([
    'rm x',
    '/bin/rm x',
    '\\rm x',
    "'r'm x",
    '"rm" x',
    "$'\\x72m' x",
    'rm',
    'FOO=1 rm x',
    'sudo rm x',
    'sudo -u root env A=1 rm x',
    'timeout --odd 5 rm x',
    'nohup rm x &',
    'xargs -n1 rm x',
    "bash -c 'rm x'",
    "sh -ec 'ls; rm x'",
    "eval 'rm x'",
    'eval rm x',
    "trap 'rm x' EXIT",
    'find . -exec rm x {} +',
    'echo $(echo `rm x`)',
    'bash -c "bash -c \'rm x\'"',
    'f() { rm x; }; f',
    'if a; then b; else rm x; fi',
    'case x in y) rm x;; esac',
    'coproc rm x',
    'a=(1 $(rm x))',
    'cat <<EOF\n$(rm x)\nEOF',
    'echo ${a[$(rm x)]}',
    'exec rm x',
    'rm\\\n x',
    'echo a | rm x',
    'rm x "unterminated',
  ])('Bash(rm *) denies %s', (command) => {
    expect(asker({ deny: ['Bash(rm *)'], allow: ['Bash'] }).bash(command)).toBe('deny')
  })

  test('do not match commands that only look similar', () => {
    const { bash } = asker({ deny: ['Bash(rm *)'], allow: ['Bash'] })
    for (const command of ['echo rm x', 'git commit -m "rm x"', 'rmdir x', "cat <<'EOF'\n$(rm x)\nEOF", 'npm rm x']) {
      expect([command, bash(command)]).toEqual([command, 'allow'])
    }
  })

  test('even if the directory of the command is unknown', () => {
    const { bash } = asker({ deny: ['Read(.env)', 'Edit(.env)'], allow: ['Bash'] })
    expect(bash('cd "$X" && cat .env')).toBe('deny')
    expect(bash('cd a; cd b; cd c; cd d; echo x > .env')).toBe('deny')
  })

  test('in bypassPermissions a command that deny rules cannot be checked against asks', () => {
    const { bash } = asker({ mode: 'bypassPermissions', deny: ['Bash(rm *)'] })
    expect(bash('make')).toBe('allow')
    expect(bash('$X y')).toBe('ask')
    expect(asker({ mode: 'bypassPermissions' }).bash('$X y')).toBe('allow')
  })

  test('a bare one removes the tool', () => {
    const { permissions, bash } = asker({ deny: ['Bash', 'mcp__files', 'Read(x)', 'mcp__a__*'] })
    expect(permissions.toolsHiddenByDeny(['Bash', 'Read', 'mcp__files__x', 'mcp__filesystem__x', 'mcp__a__b'])).toEqual(
      ['Bash', 'mcp__files__x', 'mcp__a__b'],
    )
    expect(bash('ls')).toBe('deny')
  })

  test('and hide denied files from searches', () => {
    const { permissions, cwd } = asker({ deny: ['Read(.env)', 'Read(./secret/**)'] })
    expect(permissions.deniesReading(join(cwd, 'a/.env'))).toBe(true)
    expect(permissions.deniesReading(join(cwd, 'secret/a'))).toBe(true)
    expect(permissions.deniesReading(join(cwd, 'a'))).toBe(false)
  })

  test('for Read make patterns and recursive searches ask', () => {
    const { bash } = asker({ deny: ['Read(.env)'] })
    expect(bash('cat .e*')).toBe('ask')
    expect(bash('cat .*')).toBe('ask')
    expect(bash('cat ?env')).toBe('ask')
    expect(bash('cat .E*')).toBe('ask')
    expect(bash('cat */*')).toBe('ask')
    expect(bash('cat *')).toBe('allow')
    expect(bash('cat *.ts')).toBe('allow')
    expect(bash('touch a.ts; cat *.ts')).toBe('ask')
    expect(bash('grep -r KEY .')).toBe('ask')
    expect(bash('grep -r KEY *')).toBe('ask')
    expect(bash('cat a')).toBe('allow')
    expect(bash('cat .env')).toBe('deny')
    expect(bash('git show HEAD:.env')).toBe('deny')
    expect(bash('cd a && cat ../.env')).toBe('deny')
    expect(bash('cat < .env')).toBe('deny')
    expect(bash('cp .env x')).toBe('deny')
  })
})

test.each([
  ['Read(*.key)', 'cat *.ts', 'allow'],
  ['Read(*.key)', 'cat *', 'ask'],
  ['Read(*.key)', 'cat a*', 'ask'],
  ['Read(*.key)', 'cat *.k*', 'ask'],
  ['Read(*.key)', 'cat *[kK][eE]y', 'ask'],
  ['Read(*.key)', 'cat k*.md', 'allow'],
  ['Read(.env*)', 'cat *', 'allow'],
  ['Read(.env*)', 'cat .[a-z]*', 'ask'],
  ['Read([.x]env)', 'cat *env', 'ask'],
  ['Read(./secret/**)', 'cat s*', 'allow'],
  ['Read(./secret/**)', 'cat secret/*', 'deny'],
  ['Read(./secret/*.md)', 'cat secret/*.ts', 'allow'],
  ['Read(**/keys/*)', 'cat keys/*.ts', 'deny'],
  ['Read(./*)', 'cat *.ts', 'deny'],
  ['Read(./a?.t[s])', 'cat *.ts', 'ask'],
  ['Read(./secret)', 'cat s*', 'ask'],
  ['Read(./secret)', 'cat a*', 'allow'],
])('for %s with a pattern that matches nothing yet: %s: %s', (rule, command, behavior) => {
  expect(asker({ deny: [rule] }).bash(command)).toBe(behavior)
})

describe('links', () => {
  test('a path is denied if either end is, and allowed only if both are', () => {
    const outside = temporaryFolder()
    const cwd = temporaryFolder()
    writeFileSync(join(outside, 'target'), '')
    writeFileSync(join(cwd, 'secret'), '')
    symlinkSync(join(outside, 'target'), join(cwd, 'out'))
    symlinkSync(join(outside, 'new'), join(cwd, 'dangling'))
    symlinkSync(outside, join(cwd, 'folder'))
    symlinkSync('secret', join(cwd, 'alias'))
    const { decide } = asker({ mode: 'acceptEdits', deny: ['Read(secret)'] }, cwd)
    expect(decide('Read', { file_path: 'alias' }).behavior).toBe('deny')
    expect(decide('Read', { file_path: 'out' }).behavior).toBe('ask')
    expect(decide('Read', { file_path: 'folder/target' }).behavior).toBe('ask')
    expect(decide('Write', { file_path: 'dangling' }).behavior).toBe('ask')
    expect(decide('Write', { file_path: 'folder/new' }).behavior).toBe('ask')
    expect(decide('Write', { file_path: 'fine' }).behavior).toBe('allow')
    const both = asker({ allow: [`Read(/${outside}/**)`] }, cwd)
    expect(both.decide('Read', { file_path: 'out' }).behavior).toBe('allow')
    const onlyNear = asker({ allow: ['Edit(out)'] }, cwd)
    expect(onlyNear.decide('Edit', { file_path: 'out' }).behavior).toBe('ask')
  })

  test('a working directory that is reached through a link is the same directory', () => {
    const real = temporaryFolder()
    const cwd = join(temporaryFolder(), 'link')
    symlinkSync(real, cwd)
    const { decide } = asker({ deny: ['Read(./a)'] }, cwd)
    expect(decide('Read', { file_path: join(real, 'a') }).behavior).toBe('deny')
    expect(decide('Read', { file_path: join(real, 'b') }).behavior).toBe('allow')
    expect(decide('Read', { file_path: join(cwd, 'b') }).behavior).toBe('allow')
  })
})

describe('modes', () => {
  test('acceptEdits accepts edits inside, including redirects, except files that are obeyed later', () => {
    const { decide, bash } = asker({ mode: 'acceptEdits' })
    expect(decide('Edit', { file_path: 'src/a' }).behavior).toBe('allow')
    expect(bash('echo x > src/a')).toBe('allow')
    expect(bash('npm test')).toBe('ask')
    expect(decide('Write', { file_path: '/etc/x' }).behavior).toBe('ask')
    for (const path of ['.git/hooks/pre-commit', '.halting/settings.json', 'deep/.claude/settings.json', '.mcp.json']) {
      expect([path, decide('Write', { file_path: path }).behavior]).toEqual([path, 'ask'])
    }
  })

  test('plan changes nothing, whatever is allowed', () => {
    const { decide, bash } = asker({ mode: 'plan', allow: ['Bash', 'Edit'] })
    expect(decide('Edit', { file_path: 'a' })).toEqual({
      behavior: 'deny',
      message: expect.stringContaining('Plan mode: Edit is denied'),
    })
    expect(bash('npm test')).toBe('deny')
    expect(bash('git log')).toBe('allow')
    expect(decide('Read', { file_path: 'a' }).behavior).toBe('allow')
  })

  test('dontAsk denies what would ask, and names the rule that would allow it', () => {
    const { decide } = asker({ mode: 'dontAsk' })
    expect(decide('Bash', { command: 'npm test' })).toEqual({
      behavior: 'deny',
      message:
        'Not allowed: no rule allows this command. The rule Bash(npm test) would allow it. Continue without it, or report that you need this permission.',
    })
    expect(decide('Read', { file_path: 'a' }).behavior).toBe('allow')
  })

  test('bypassPermissions allows everything except deny and ask rules', () => {
    const { bash, decide, permissions } = asker({ ask: ['Bash(git push *)'] })
    permissions.setMode('bypassPermissions')
    expect(bash('rm -rf x')).toBe('allow')
    expect(decide('Write', { file_path: '/etc/x' }).behavior).toBe('allow')
    expect(bash('git push')).toBe('ask')
    expect(permissions.mode).toBe('bypassPermissions')
  })

  test('the mode of a request precedes that of the rules, but not their denials', () => {
    const { decide, permissions } = asker({ mode: 'bypassPermissions', deny: ['Write(secret)'] })
    const inMode = (mode: string, path = 'a') => decide('Write', { file_path: path }, { mode }).behavior
    expect(permissions.modes).toEqual(['default', 'acceptEdits', 'plan', 'dontAsk', 'bypassPermissions'])
    expect([inMode('default'), inMode('acceptEdits'), inMode('plan'), inMode('dontAsk')]).toEqual([
      'ask',
      'allow',
      'deny',
      'deny',
    ])
    expect([inMode('bypassPermissions', 'secret'), inMode('acceptEdits', 'secret')]).toEqual(['deny', 'deny'])
    expect([permissions.mode, inMode('nobody knows it')]).toEqual(['bypassPermissions', 'allow'])
  })

  test('an unknown mode is rejected, in a request and before a resume', () => {
    const modes = ['default', 'plan'] as const
    const { decide, permissions } = asker({ modes })
    const learned = [{ type: 'setMode', mode: 'bypassPermissions', destination: 'session' }] as const
    const write = (rights: object) => decide('Write', { file_path: 'a' }, rights).behavior
    expect([write({ learned }), write({ mode: 'bypassPermissions' }), write({ learned, mode: 'plan' })]).toEqual([
      'ask',
      'ask',
      'deny',
    ])
    expect(() => permissions.setMode('bypassPermissions')).toThrow('not available')
  })

  test('a rule about an input applies to a call by an alias; a bare one is about a tool that does not run', () => {
    const { permissions } = asker({ deny: ['Bash(rm *)', 'WebFetch', 'mcp__own__shut'] })
    const call = (name: string, written: string, input: unknown) =>
      permissions.denies({
        call: { type: 'tool_use', id: 'call_1', name, input },
        tool: otherTool(name),
        readOnly: false,
        written,
      })
    expect([
      call('mcp__own__bash', 'Bash', { command: 'ls && rm -rf x' }),
      call('mcp__own__bash', 'Bash', { command: 'ls' }),
      call('mcp__own__fetch', 'WebFetch', { url: 'https://a.example' }),
      call('mcp__own__shut', 'Bash', { command: 'ls' }),
    ]).toEqual([
      expect.stringContaining('it was called as Bash'),
      undefined,
      undefined,
      expect.stringContaining('mcp__own__shut'),
    ])
  })

  test('headless: asks become denials, with the rules that would allow it', () => {
    const { decide } = asker({ whenAsked: 'deny' })
    expect(decide('Bash', { command: 'npm test && make > log; ls' })).toEqual({
      behavior: 'deny',
      message:
        'Not allowed: no rule allows this command. The rules Bash(npm test), Bash(make), Edit(/log) would allow it. Continue without it, or report that you need this permission.',
    })
    expect(decide('Read', { file_path: '/etc/hosts' })).toEqual({
      behavior: 'deny',
      message:
        'Not allowed: no rule allows Read on /etc/hosts. The rule Read(//etc/hosts) would allow it. Continue without it, or report that you need this permission.',
    })
  })

  test('the named rules would indeed allow it', () => {
    const cwd = temporaryFolder()
    for (const [name, input] of [
      ['Bash', { command: 'npm test && make > log; ls /etc' }],
      ['Bash', { command: "echo 'a  b' $(date) | sort" }],
      ['Bash', { command: '$X' }],
      ['Edit', { file_path: 'a/b' }],
      ['Read', { file_path: '/etc/hosts' }],
      ['WebFetch', { url: 'https://x.org' }],
      ['mcp__a__b', {}],
    ] as const) {
      const decision = asker({}, cwd).decide(name, input)
      const message = decision.behavior === 'ask' ? decision.message : ''
      const rules = /The rules? (.*) would allow it\.$/.exec(message)?.[1]?.split(/, (?=[A-Z])/) ?? []
      expect([name, input, asker({ allow: rules }, cwd).decide(name, input).behavior]).toEqual([name, input, 'allow'])
    }
  })

  test("a hook's allow skips neither deny nor ask rules; a hook's ask asks", () => {
    const { decide } = asker({ allow: ['Bash(make)'], ask: ['Bash(git push:*)'] })
    expect(decide('Bash', { command: 'npm test' }, { hookDecision: 'allow' }).behavior).toBe('allow')
    expect(decide('Bash', { command: 'git push' }, { hookDecision: 'allow' }).behavior).toBe('ask')
    expect(decide('Bash', { command: 'make' }, { hookDecision: 'ask' }).behavior).toBe('ask')
  })

  test('rules can be added at run time', () => {
    const { permissions, bash } = asker()
    expect(bash('make')).toBe('ask')
    permissions.addRules('allow', ['Bash(make)'])
    expect(bash('make')).toBe('allow')
    permissions.addRules('deny', ['Bash(make)'])
    expect(bash('make')).toBe('deny')
  })

  test("relative redirects are relative to the shell's directory", () => {
    const cwd = temporaryFolder()
    const { decide } = asker({ allow: ['Edit(/src/**)'], shellDirectory: () => join(cwd, 'src') }, cwd)
    expect(decide('Bash', { command: 'echo x > a' }).behavior).toBe('allow')
    expect(decide('Bash', { command: 'echo x > ../a' }).behavior).toBe('ask')
  })
})

describe('invalid rules', () => {
  test('are all reported, in one typed error', () => {
    const make = (): unknown =>
      createPermissions({
        cwd: '/',
        allow: ['Bash(npm', 'Bash()', 'Read', 'Foo(bar)', 'Edit(!x)', 'WebFetch(x.org)', 'Bash(a:* b)'],
        deny: ['* Read', '', 'Read(../x)'],
      })
    const thrown = thrownBy(make)
    expect(thrown).toBeInstanceOf(PermissionRuleError)
    expect(thrown).toMatchObject({
      code: 'configuration',
      problems: [
        '* Read',
        '',
        'Read(../x)',
        'Bash(npm',
        'Bash()',
        'Foo(bar)',
        'Edit(!x)',
        'WebFetch(x.org)',
        'Bash(a:* b)',
      ].map((rule) => ({ rule })),
    })
  })
})

function thrownBy(action: () => unknown): unknown {
  try {
    action()
  } catch (thrown) {
    return thrown
  }
  return undefined
}
