// Holds rules of docs/spec: R-GOAL-35 to R-GOAL-39.
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import {
  acceptCheckChanges,
  type ChangedByCheck,
  checkProtectedGlobs,
  goalFiles,
  type GoalFilesOptions,
} from '@halting/agent'
import type { GoalFilesEnd, Json } from '@halting/core'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isTestFile } from '../../src/goals/test-files.ts'
import { isDeep } from '../support/deep.ts'
import { codingTools, temporaryFolder } from '../support/harness.ts'

interface Round extends GoalFilesEnd {
  readonly tampered: readonly string[]
  /** The findings after the checks. */
  readonly changedDuring: readonly string[] | undefined
}

class Project {
  readonly root: string = temporaryFolder()
  readonly #command: string
  readonly #options: GoalFilesOptions
  #memo: Json | null = null

  constructor(command: string, files: Readonly<Record<string, string>>, options: Partial<GoalFilesOptions> = {}) {
    this.write({ 'src/a.js': '1\n', ...files })
    const env = { PATH: process.env['PATH'], HOME: '/nonexistent' }
    this.#command = command
    this.#options = { cwd: this.root, env, ...options }
  }

  write(files: Readonly<Record<string, string>>): void {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(this.root, path)), { recursive: true })
      writeFileSync(join(this.root, path), text)
    }
  }

  git(): this {
    this.sh('git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm one')
    return this
  }

  sh(command: string): void {
    execFileSync('bash', ['-c', command], { cwd: this.root, stdio: 'pipe' })
  }

  /** Each round simulates a later process, which knows only what is recorded. */
  async round(check: () => void = () => undefined): Promise<Round> {
    const round = await goalFiles(this.#options).begin(this.#memo, new AbortController().signal, [
      { name: this.#command },
    ])
    check()
    const end = await round.end()
    this.#memo = JSON.parse(JSON.stringify(end.memo))
    return { ...end, tampered: round.tampered, changedDuring: end.tampered }
  }

  async tampered(): Promise<readonly string[]> {
    return (await this.round()).tampered
  }
}

const packageJson = (scripts: Readonly<Record<string, string>>, more: object = {}): string =>
  JSON.stringify({ name: 'x', ...more, scripts })

describe('the definition behind a command', () => {
  const script = './scripts/check.sh'
  const rows: readonly (readonly [
    command: string,
    files: Readonly<Record<string, string>>,
    change: (project: Project) => void,
    tampered: readonly string[],
  ])[] = [
    [
      script,
      { 'scripts/check.sh': 'exit 1' },
      (project) => project.write({ 'scripts/check.sh': 'exit 0' }),
      ['scripts/check.sh'],
    ],
    [
      'bash scripts/check.sh -v',
      { 'scripts/check.sh': 'exit 1' },
      (project) => project.write({ 'scripts/check.sh': '' }),
      ['scripts/check.sh'],
    ],
    [
      'timeout 9 python3 -u check.py --all',
      { 'check.py': 'x' },
      (project) => project.write({ 'check.py': '' }),
      ['check.py'],
    ],
    [
      'cd sub && sh check.sh',
      { 'sub/check.sh': 'x' },
      (project) => project.write({ 'sub/check.sh': '' }),
      ['sub/check.sh'],
    ],
    [
      'bash -c "npm test"',
      { 'package.json': packageJson({ test: 'a' }) },
      (project) => project.write({ 'package.json': packageJson({ test: 'true' }) }),
      ['package.json (scripts.test)'],
    ],
    [
      'npm test',
      { 'package.json': packageJson({ test: 'a' }) },
      (project) => project.write({ 'package.json': packageJson({ pretest: 'x', test: 'a' }) }),
      ['package.json (scripts.test)'],
    ],
    [
      'npm --silent run ci | tail',
      { 'package.json': packageJson({ ci: 'npm run lint && npm t', lint: 'l', test: 'a' }) },
      (project) =>
        project.write({ 'package.json': packageJson({ ci: 'npm run lint && npm t', lint: 'true', test: 'a' }) }),
      ['package.json (scripts.lint)'],
    ],
    [
      'yarn check',
      { 'package.json': packageJson({ check: 'a' }) },
      (project) => project.write({ 'package.json': packageJson({}) }),
      ['package.json (scripts.check)'],
    ],
    [
      'pnpm -C sub run t',
      { 'sub/package.json': packageJson({ t: 'a' }) },
      (project) => project.write({ 'sub/package.json': packageJson({ t: 'b' }) }),
      ['sub/package.json (scripts.t)'],
    ],
    [
      'cd sub && npm test',
      { 'package.json': packageJson({ test: 'a' }), 'sub/x': '' },
      (project) => project.write({ 'sub/package.json': packageJson({ test: 'true' }) }),
      ['sub/package.json (scripts.test)'],
    ],
    [
      'npm test',
      { 'package.json': packageJson({ test: 'bash scripts/t.sh' }), 'scripts/t.sh': 'x' },
      (project) => project.write({ 'scripts/t.sh': '' }),
      ['scripts/t.sh'],
    ],
    [
      'npm test',
      { 'package.json': packageJson({ test: 'a' }) },
      (project) => project.write({ '.npmrc': 'script-shell=/bin/true\n' }),
      ['.npmrc (how scripts are run)'],
    ],
    [
      'npm test',
      { 'package.json': packageJson({ test: 'a' }), '.npmrc': 'fund=false\n' },
      (project) => project.write({ '.npmrc': 'fund=false\nnode-options=--require ./x.js\n' }),
      ['.npmrc (how scripts are run)'],
    ],
    [
      'npm test',
      { 'package.json': packageJson({ test: 'a' }) },
      (project) => project.write({ 'package.json': '{ broken' }),
      ['package.json (scripts.test)'],
    ],
    [
      'npm test -ws',
      { 'package.json': packageJson({ test: 'a' }), 'packages/b/package.json': packageJson({ test: 'b' }) },
      (project) => project.write({ 'packages/b/package.json': packageJson({ test: 'true' }) }),
      ['package.json of the workspaces (scripts.test)'],
    ],
    [
      'npm test',
      { 'package.json': packageJson({ test: 'node x.js' }) },
      (project) => project.write({ 'node_modules/.bin/node': '' }),
      ['node_modules/.bin/node'],
    ],
    [
      'make check',
      { Makefile: 'X = 1\ncheck: build\n\t./t $(X)\nbuild:\n\tcc a.c\nclean:\n\trm x\n' },
      (project) => project.write({ Makefile: 'X = 2\ncheck: build\n\t./t $(X)\nbuild:\n\tcc a.c\nclean:\n\trm x\n' }),
      ['Makefile (check)'],
    ],
    [
      'make check',
      { Makefile: 'check: build\n\t./t\nbuild:\n\tcc a.c\n' },
      (project) => project.write({ Makefile: 'check: build\n\t./t\nbuild:\n\ttrue\n' }),
      ['Makefile (check)'],
    ],
    [
      'make',
      { Makefile: 'all: ; ./t\n' },
      (project) => project.write({ GNUmakefile: 'all: ; true\n' }),
      ['GNUmakefile (the default target)'],
    ],
    [
      'make check',
      { Makefile: 'check:\n\t./t\n' },
      (project) => project.write({ check: '' }),
      ['check (a file in the place of a target of make)'],
    ],
    [
      'make check',
      { Makefile: 'D = mk\ninclude $(D)/*.mk\n', 'mk/rules.mk': 'check:\n\t./t\n' },
      (project) => project.write({ 'mk/rules.mk': 'check:\n\ttrue\n' }),
      ['Makefile (check)'],
    ],
    [
      'make check',
      { Makefile: 'include a.mk\n', 'a.mk': 'include b.mk\n', 'b.mk': 'check:\n\t./t\n' },
      (project) => project.write({ 'b.mk': 'check:\n\ttrue\n' }),
      ['Makefile (check)'],
    ],
    [
      'make check',
      { Makefile: 'check:\n\t./t\n-include *.mk\n' },
      (project) => project.write({ 'local.mk': 'check:\n\ttrue\n' }),
      ['Makefile (check)'],
    ],
    [
      'make check',
      { Makefile: 'check:\n\t$(MAKE) -C sub check\n', 'sub/Makefile': 'check:\n\t./t\n' },
      (project) => project.write({ 'sub/Makefile': 'check:\n\ttrue\n' }),
      ['Makefile (check)'],
    ],
    [
      'just check',
      { justfile: 'check: build\n  ./t\nbuild:\n  cc\n' },
      (project) => project.write({ justfile: 'check: build\n  ./t\nbuild:\n  true\n' }),
      ['justfile (check)'],
    ],
  ]
  test.each(rows)('of %s with %j is protected', async (command, files, change, tampered) => {
    const project = new Project(command, files)
    expect(await project.tampered()).toEqual([])
    expect(await project.tampered()).toEqual([])
    change(project)
    expect(await project.tampered()).toEqual(tampered)
    // Not because it was detected once.
    expect(await project.tampered()).toEqual(tampered)
  })

  const harmless: readonly (readonly [
    command: string,
    files: Readonly<Record<string, string>>,
    change: (project: Project) => void,
  ])[] = [
    [
      'npm test',
      { 'package.json': packageJson({ test: 'a' }) },
      (project) =>
        project.write({
          'package.json': packageJson({ build: 'b', test: 'a' }, { version: '2', dependencies: { x: '1' } }),
        }),
    ],
    [
      'npm test',
      { 'package.json': packageJson({ test: 'vitest' }), 'test/a.test.js': '1' },
      (project) => project.write({ 'test/a.test.js': '2', 'node_modules/.bin/vitest': 'installed' }),
    ],
    [
      'npm test',
      { 'package.json': packageJson({ test: 'node test.js' }), 'test.js': '1' },
      (project) => project.write({ 'test.js': '2' }),
    ],
    [
      'npm test',
      { 'package.json': packageJson({ test: 'a' }) },
      (project) =>
        project.write({
          '.npmrc': '# one\nregistry=https://r.example\n@x:registry=https://x.example\nsave-exact=true\n',
        }),
    ],
    [
      'npm test',
      { 'package.json': packageJson({ build: 'a' }) },
      (project) => project.write({ 'package.json': packageJson({ build: 'a', test: 'vitest' }) }),
    ],
    ['./check.sh', {}, (project) => project.write({ 'check.sh': 'exit 0' })],
    [
      'make check',
      { Makefile: 'check:\n\t./t\nclean:\n\trm x\n' },
      (project) => project.write({ Makefile: '# a word\ncheck:\n\t./t\nclean:\n\trm y\nnew: check\n\tz\n' }),
    ],
    ['make check', { Makefile: '.PHONY: check\ncheck:\n\t./t\n' }, (project) => project.write({ check: '' })],
    [
      'just check',
      { justfile: 'check:\n  ./t\nclean:\n  rm x\n' },
      (project) => project.write({ justfile: 'check:\n  ./t\nclean:\n  rm y\n' }),
    ],
    ['grep -q done src/a.js', {}, (project) => project.write({ 'src/a.js': 'done' })],
    ['pytest tests/test_a.py', { 'tests/test_a.py': '1' }, (project) => project.write({ 'tests/test_a.py': '2' })],
  ]
  test.each(harmless)('of %s with %j is not everything', async (command, files, change) => {
    const project = new Project(command, files)
    await project.round()
    change(project)
    expect(await project.tampered()).toEqual([])
  })

  test('applies to links of node_modules, even after they were restored', async () => {
    const project = new Project('npm test', {
      'package.json': packageJson({ test: 'runner --all' }),
      'node_modules/runner/bin.js': '1',
    })
    mkdirSync(join(project.root, 'node_modules/.bin'))
    const bin = join(project.root, 'node_modules/.bin/runner')
    symlinkSync('../runner/bin.js', bin)
    await project.round()
    rmSync(bin)
    expect(await project.tampered()).toEqual([])
    writeFileSync(bin, 'exit 0')
    expect(await project.tampered()).toEqual(['node_modules/.bin/runner'])
    rmSync(bin)
    symlinkSync('../runner/bin.js', bin)
    expect(await project.tampered()).toEqual([])
  })

  test('applies although a check changes it: it may run what the agent wrote', async () => {
    const project = new Project('npm test', { 'package.json': packageJson({ test: 'a' }) })
    await project.round()
    const changed = ['package.json (scripts.test)']
    // This check too: a script behind it may have been run by the changed file.
    const { tampered, changedDuring, changedByChecks } = await project.round(() =>
      project.write({ 'package.json': packageJson({ test: 'true' }) }),
    )
    expect([tampered, changedDuring, changedByChecks]).toEqual([[], changed, ['package.json']])
    expect(await project.tampered()).toEqual(changed)
  })

  test('may be the make target that a check creates', async () => {
    const project = new Project('make out', { Makefile: 'out:\n\ttouch out\n' })
    await project.round()
    const { changedDuring } = await project.round(() => project.write({ out: '' }))
    expect([changedDuring, await project.tampered()]).toEqual([[], []])
  })

  test('includes files that are reached through links and renamed folders', async () => {
    const project = new Project('bash scripts/check.sh', { 'scripts/check.sh': 'exit 1' })
    await project.round()
    symlinkSync('scripts/check.sh', join(project.root, 'other'))
    writeFileSync(join(project.root, 'other'), 'exit 0')
    expect(await project.tampered()).toEqual(['scripts/check.sh'])
    writeFileSync(join(project.root, 'other'), 'exit 1')
    expect(await project.tampered()).toEqual([])
    renameSync(join(project.root, 'scripts'), join(project.root, 'moved'))
    expect(await project.tampered()).toEqual(['scripts/check.sh'])
    symlinkSync('moved', join(project.root, 'scripts'))
    expect(await project.tampered()).toEqual([])
    writeFileSync(join(project.root, 'moved/check.sh'), 'exit 0')
    expect(await project.tampered()).toEqual(['scripts/check.sh'])
  })

  test('includes a file that the environment makes bash run', async () => {
    const root = temporaryFolder()
    writeFileSync(join(root, 'env.sh'), '')
    const options = {
      cwd: root,
      env: { PATH: process.env['PATH'], BASH_ENV: 'env.sh' },
    }
    const first = await goalFiles(options).begin(null, new AbortController().signal, [{ name: 'ls' }])
    const { memo } = await first.end()
    writeFileSync(join(root, 'env.sh'), 'exit 0')
    const second = await goalFiles(options).begin(memo, new AbortController().signal, [{ name: 'ls' }])
    expect(second.tampered).toEqual(['env.sh'])
  })
})

describe('globs', () => {
  const files = { 'tests/a.test.js': '1', 'tests/deep/b.test.js': '1', 'docs/x.md': '1', '.gitignore': 'out/\n' }

  test('protect existing and new files, and nothing that git ignores', async () => {
    const project = new Project('true', files, { protect: ['tests/**', '*.md'] }).git()
    project.write({ 'tests/out/z.js': '1' })
    expect(await project.tampered()).toEqual([])
    project.write({ 'tests/a.test.js': '2', 'tests/new.js': '1', 'tests/out/z.js': '2', 'src/a.js': '2' })
    rmSync(join(project.root, 'docs/x.md'))
    expect(await project.tampered()).toEqual(['tests/a.test.js', 'tests/new.js (new)', 'docs/x.md (deleted)'])
    project.write({ 'tests/a.test.js': '1', 'docs/x.md': '1' })
    rmSync(join(project.root, 'tests/new.js'))
    expect(await project.tampered()).toEqual([])
  })

  test('protect also what the agent makes git ignore', async () => {
    const project = new Project('true', files, { protect: ['tests/**'] }).git()
    await project.round()
    project.write({ '.gitignore': 'out/\ntests/\n', 'tests/hidden.js': '1' })
    expect(await project.tampered()).toEqual(['tests/hidden.js (new, and ignored by git since the first check)'])
    // An ignored file that appears while the ignore rules are unchanged is a build result.
    project.write({ '.gitignore': 'out/\n' })
    rmSync(join(project.root, 'tests/hidden.js'))
    expect(await project.tampered()).toEqual([])
    project.sh('git rm -q --cached -r tests && echo 2 > tests/a.test.js')
    expect(await project.tampered()).toContain('tests/a.test.js')
  })

  test('protect without git too, and behind links and replaced folders', async () => {
    const project = new Project('true', files, { protect: ['tests/**'] })
    symlinkSync('../src/a.js', join(project.root, 'tests/link'))
    expect(await project.tampered()).toEqual([])
    project.write({ 'src/a.js': '2' })
    expect(await project.tampered()).toEqual(['tests/link'])
    project.write({ 'src/a.js': '1\n' })
    expect(await project.tampered()).toEqual([])
    cpSync(join(project.root, 'tests'), join(project.root, 'copy'), { recursive: true })
    rmSync(join(project.root, 'tests'), { recursive: true })
    symlinkSync('copy', join(project.root, 'tests'))
    project.write({ 'copy/a.test.js': '2' })
    expect(await project.tampered()).toContain('tests/a.test.js')
  })

  test('compare files with what checks made of them, and name them', async () => {
    const project = new Project('true', files, { protect: ['tests/**'] }).git()
    const first = await project.round(() =>
      project.write({ 'tests/a.test.js': 'formatted', 'tests/__snapshots__/s.snap': '1' }),
    )
    expect(first.changedByChecks).toEqual(['tests/__snapshots__/s.snap', 'tests/a.test.js'])
    const second = await project.round()
    expect([second.tampered, second.changedByChecks, second.changedTests]).toEqual([[], [], []])
    project.write({ 'tests/a.test.js': 'agent' })
    // What the agent has changed stays its change, whatever a check does to it.
    const third = await project.round(() => project.write({ 'tests/a.test.js': 'agent formatted' }))
    expect([third.tampered, third.changedTests]).toEqual([['tests/a.test.js'], ['tests/a.test.js']])
    expect(await project.tampered()).toEqual(['tests/a.test.js'])
  })

  test('with other globs start from the current files', async () => {
    const root = temporaryFolder()
    mkdirSync(join(root, 'a'))
    writeFileSync(join(root, 'a/x'), '1')
    const begin = (protect: readonly string[], memo: Json | null) =>
      goalFiles({ cwd: root, protect }).begin(memo, new AbortController().signal, [])
    const { memo } = await (await begin(['b/**'], null)).end()
    writeFileSync(join(root, 'a/x'), '2')
    expect((await begin(['a/**'], memo)).tampered).toEqual([])
  })

  const wrong = ['/etc/**', '../x/**', '~/x', '!a', '', 'nothing/**', 'out/**']
  test.each(wrong)('reject "%s" before anything is spent', async (glob) => {
    const project = new Project('true', { ...files, 'out/built.js': '1' }).git()
    await expect(checkProtectedGlobs([glob], project.root, process.env)).rejects.toThrow(/^protect/)
  })

  test('accept other notations', async () => {
    const project = new Project('true', files).git()
    for (const glob of ['tests', './tests/**', '**/*.test.js', '*.md', '{tests,docs}/**', `${project.root}/tests/**`])
      await expect(checkProtectedGlobs([glob], project.root, process.env)).resolves.toBeUndefined()
  })

  test('reject more files than can be protected', async () => {
    const project = new Project('true', {})
    project.sh('mkdir many && cd many && touch {1..2001}')
    await expect(checkProtectedGlobs(['many/**'], project.root, process.env)).rejects.toThrow('2001 files')
  })

  test('may match unreadable files, pipes and names that are not UTF-8', async () => {
    const project = new Project('true', { 'tests/secret': '1' }, { protect: ['tests/**'] })
    project.sh('mkfifo tests/pipe && ln -s loop tests/loop')
    chmodSync(join(project.root, 'tests/secret'), 0)
    expect(await project.tampered()).toEqual([])
    chmodSync(join(project.root, 'tests/secret'), 0o600)
    rmSync(join(project.root, 'tests/pipe'))
    expect(await project.tampered()).toContain('tests/pipe (deleted)')
    project.sh("printf x > tests/$'\\xff'")
    expect((await project.tampered()).some((text) => text.endsWith('(new)'))).toBe(true)
    await expect(checkProtectedGlobs(['tests/**'], project.root, process.env)).rejects.toThrow('not UTF-8')
  })
})

test('a protected file counts as tampered exactly while it differs from what the user or a check made of it', async () => {
  const who = fc.constantFrom('agent', 'check')
  const step = fc.record({
    who,
    file: fc.constantFrom('tests/a', 'tests/b'),
    content: fc.constantFrom('1', '2', undefined),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(step, { maxLength: 3 }), { maxLength: 5 }), async (rounds) => {
      const project = new Project('true', { 'tests/a': '1', 'tests/b': '1' }, { protect: ['tests/**'] })
      await project.round()
      const right = new Map<string, string | undefined>([
        ['tests/a', '1'],
        ['tests/b', '1'],
      ])
      const is = new Map(right)
      const put = (steps: (typeof rounds)[number], by: string): void => {
        for (const { who: one, file, content } of steps) {
          if (one !== by) continue
          rmSync(join(project.root, file), { force: true })
          if (content !== undefined) project.write({ [file]: content })
          is.set(file, content)
        }
      }
      for (const steps of rounds) {
        put(steps, 'agent')
        const wrong = [...is].filter(([file, content]) => right.get(file) !== content).map(([file]) => file)
        const { tampered } = await project.round(() => put(steps, 'check'))
        expect(tampered.map((text) => text.replace(/ .*/, '')).toSorted()).toEqual(wrong)
        for (const [file, content] of is) if (!wrong.includes(file)) right.set(file, content)
      }
    }),
    { numRuns: isDeep ? 200 : 20 },
  )
})

describe('test files', () => {
  const names =
    'a.test.ts b.spec.js test_c.py c_test.go CTest.java spec/d_spec.rb tests/x.rs __tests__/y.js e2e/z.ts FooTests.cs test/fixtures/a.json __snapshots__/a.snap features/a.feature test.js conftest.py vitest.config.ts jest.config.js .mocharc.json pytest.ini'
  test.each(names.split(' '))('include %s', (name) => {
    expect([isTestFile(name), isTestFile(`packages/x/${name}`)]).toEqual([true, true])
  })

  test.each(
    'src/a.ts vite.config.ts latest.js contest.py src/testing.ts attest/x.ts protest.go README.md inspect/a.js'.split(
      ' ',
    ),
  )('exclude %s', (name) => {
    expect(isTestFile(name)).toBe(false)
  })

  test('that changed, appeared or disappeared since the first round are listed, except for changes of checks', async () => {
    const project = new Project('true', {
      'a.test.js': '1',
      'b.test.js': '1',
      'c.test.js': '1',
      '.gitignore': 'coverage/\n',
    }).git()
    expect((await project.round()).changedTests).toEqual([])
    project.write({ 'a.test.js': '2', 'd.test.js': '1', 'coverage/x.test.js': '1' })
    rmSync(join(project.root, 'b.test.js'))
    const round = await project.round(() => project.write({ 'c.test.js': 'formatted', 'e.test.js': 'made' }))
    expect(round.changedTests).toEqual(['a.test.js', 'b.test.js', 'd.test.js'])
    project.write({ 'a.test.js': '1' })
    expect((await project.round()).changedTests).toEqual(['b.test.js', 'd.test.js'])
  })

  test('beyond the limit are reported as not compared', async () => {
    const project = new Project('true', {})
    project.sh('mkdir tests && cd tests && touch {1..2001}')
    const { changedTests, memo } = await project.round()
    expect(changedTests).toEqual([])
    project.write({ 'tests/1': 'changed' })
    expect((await project.round()).changedTests).toEqual([
      'tests/1 (of more than 2000 test files the first were compared)',
    ])
    expect(JSON.stringify(memo).length).toBeLessThan(100_000)
  })
})

describe('the Edit tool and files that a check changed', () => {
  test('may edit them, unless someone else had changed them before', async () => {
    const { use, cwd, workspace } = codingTools()
    const [one, two] = [join(cwd, 'one.js'), join(cwd, 'two.js')]
    writeFileSync(one, 'let a=1\n')
    writeFileSync(two, 'let b=1\n')
    await use('Read', { file_path: one })
    await use('Read', { file_path: two })
    writeFileSync(two, 'let b=2\n')
    const heard: ChangedByCheck[] = []
    const files = goalFiles({
      cwd,
      onChangedByChecks: (changes) => {
        heard.push(...changes)
        return acceptCheckChanges(workspace, changes)
      },
    })
    const round = await files.begin(null, new AbortController().signal, [])
    for (const path of [one, two]) writeFileSync(path, readFileSync(path, 'utf8').replace('=', ' = '))
    expect((await round.end()).changedByChecks).toEqual(['one.js', 'two.js'])
    expect(heard.map(({ path }) => path)).toEqual([one, two])
    const edited = await use('Edit', { file_path: one, old_string: 'a = 1', new_string: 'a = 3' })
    expect([edited.isError, edited.text.includes('Changed on disk')]).toEqual([false, expect.any(Boolean)])
    expect(readFileSync(one, 'utf8')).toBe('let a = 3\n')
    expect((await use('Edit', { file_path: two, old_string: 'b = 2', new_string: 'b = 3' })).isError).toBe(true)
  })
})

test('rejects a memo of a later version', async () => {
  const root = temporaryFolder()
  const files = goalFiles({ cwd: root })
  await expect(async () => files.begin({ version: 99 }, new AbortController().signal, [])).rejects.toThrow(
    'does not know',
  )
  expect(existsSync(root)).toBe(true)
})
