// Spec R-VERI-10 to R-VERI-11: which commands are checks, whether they passed, and which lines they change.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { commandChanges } from '../../src/checks/command-changes.ts'
import { commandWork } from '../../src/checks/command-work.ts'
import { type CommandRow, noChecks, otherChecks, plainChecks } from './command-table.ts'

function cameTo({ command, code, output = '', changed = [] }: CommandRow, exitCode: number): CommandRow['is'] {
  const ended = code === undefined ? exitCode : code
  const check = commandWork(command, { exitCode: ended, output, changedFiles: changed })?.check
  return check === undefined ? 'none' : check.passed ? 'passed' : 'failed'
}

const wrong = (rows: readonly CommandRow[], exitCode: number, right?: CommandRow['is']): readonly string[] =>
  rows.flatMap((row) => {
    const is = cameTo(row, exitCode)
    return is === (right ?? row.is)
      ? []
      : [`${row.command} with ${JSON.stringify(row.output ?? '')}: ${is}, not ${right ?? row.is}`]
  })

test('recognizes checks, and passes them with exit code 0', () => {
  expect(plainChecks.length).toBeGreaterThan(180)
  expect(wrong(plainChecks, 0)).toEqual([])
})

test('passes none of them if the line failed', () => {
  expect(wrong(plainChecks, 1, 'failed')).toEqual([])
})

test('recognizes nothing else as a check', () => {
  expect(noChecks.length).toBeGreaterThan(100)
  expect(wrong(noChecks, 0)).toEqual([])
})

test('evaluates the rest of the line, the exit code and the output', () => {
  expect(wrong(otherChecks, 0)).toEqual([])
})

test('reports the check as a user would type it', () => {
  const shown = (command: string): string | undefined =>
    commandWork(command, { exitCode: 0, output: '' })?.check?.command
  expect(shown('cd web && CI=1 npm   test 2>&1 > out.log')).toBe('cd web && npm test')
  expect(shown('npm run lint && npm test')).toBe('npm test')
  expect(shown("bash -c 'make test'")).toBe('make test')
})

const changes: readonly (readonly [string, number])[] = [
  ["cat > src/a.js <<'END'\none\ntwo\nthree\nEND", 3],
  ["cat <<'END' > a.py\none\nEND", 1],
  ["tee src/a.js > /dev/null <<'END'\none\ntwo\nEND", 2],
  ['echo one > a.js', 1],
  ["printf 'one\\ntwo\\n' >> a.js", 2],
  ['sed -i s/a/b/ src/a.js src/b.js', 2],
  ['sed -n 1,5p src/a.js', 0],
  ['sed s/a/b/ src/a.js > src/b.js', 1],
  ['perl -pi -e s/a/b/ a.pl', 1],
  ['mv src/a.js src/b.js', 2],
  ['rm src/a.js', 1],
  ['rm -rf node_modules dist', 0],
  ['cp a.js src/b.js', 1],
  ["git apply <<'END'\n--- a/x.js\n+++ b/x.js\n@@ -1,2 +1,2 @@\n-one\n+two\n three\nEND", 2],
  ["apply_patch <<'END'\n*** Begin Patch\n*** Update File: x.js\n@@\n-one\n+two\n+three\n*** End Patch\nEND", 3],
  ['git apply --check x.patch', 0],
  ['patch -p1 < fix.patch', 1],
  ['git checkout -- src/a.js', 1],
  ['git checkout main', 0],
  ['git stash pop', 1],
  ["python - <<'END'\nopen('a.py', 'w').write('x')\nEND", 1],
  ["python - <<'END'\nprint(open('a.py').read())\nEND", 0],
  ["node -e \"require('fs').writeFileSync('a.js', 'x')\"", 1],
  ['echo x > /tmp/a.js', 0],
  ['echo x > README.md', 0],
  ['echo x > notes.txt', 0],
  ['echo x > requirements.txt', 1],
  ['echo x > CMakeLists.txt', 1],
  ['npm test > out.log', 0],
  ['npm test 2> /dev/null', 0],
  ['echo x > dist/a.js', 0],
  ['echo x > .git/config', 0],
  ['echo x > package-lock.json', 0],
  ['npx eslint --fix src', 0],
  ['npx prettier --write src', 0],
  ['pytest --snapshot-update > a.py', 0],
  ['ls -l', 0],
  ['cd src && echo x > a.js', 1],
]

test.each(changes)('counts the lines of %j', (command, lines) => {
  expect(commandWork(command, { exitCode: 0, output: '' })?.changedLines ?? 0).toBe(lines)
})

test('names files relative to the start of the line', () => {
  expect(commandChanges('cd src && echo x > a.js')).toEqual([{ path: 'src/a.js', lines: 1 }])
  expect(commandChanges('sed -i s/a/b/ ./a.js')).toEqual([{ path: 'a.js', lines: 1 }])
})

test('counts detected changes, except for lines that only check, format and read', () => {
  const seen = (command: string): number | undefined =>
    commandWork(command, { exitCode: 0, output: '', seen: [{ path: 'src/a.css', lines: 7 }] })?.changedLines
  expect(seen('python fix.py')).toBe(7)
  expect(seen('python fix.py && npm test')).toBe(7)
  expect(seen('npm test')).toBeUndefined()
  expect(seen('cd web && npx eslint --fix . | tail -3')).toBeUndefined()
  expect(seen('npx prettier --write . && git diff --stat')).toBeUndefined()
})

test('does not count a program that edits sources itself as a check', () => {
  const seen = (path: string): unknown =>
    commandWork('python gen.py', { exitCode: 0, output: '', changedFiles: ['gen.py'], seen: [{ path, lines: 4 }] })
  expect(seen('src/a.py')).toEqual({ changedLines: 4 })
  expect(seen('result.json')).toEqual({ changedLines: 4, check: { command: 'python gen.py', passed: true } })
})

test('does not pass a check that is followed by an edit of sources', () => {
  const passed = (command: string, path = 'src/a.py'): unknown =>
    commandWork(command, { exitCode: 0, output: '', seen: [{ path, lines: 4 }] })?.check?.passed
  expect(passed('npm test && python rewrite.py')).toBe(false)
  expect(passed('npm test && git checkout other')).toBe(false)
  expect(passed('npm test && python rewrite.py', 'result.json')).toBe(true)
  expect(passed('python rewrite.py && npm test')).toBe(true)
  expect(passed('python rewrite.py && npm test && git add . && git commit -m done && echo ok')).toBe(true)
  expect(passed('python rewrite.py && npm test && npx prettier --write . && git diff')).toBe(true)
})

test('ignores a check of the run in another folder', () => {
  const check = (command: string): unknown =>
    commandWork(command, { exitCode: 0, output: '', isElsewhere: (folder) => folder.startsWith('/other') })?.check
  expect(check('cd /other/place && npm test')).toBeUndefined()
  expect(check('npm --prefix /other test')).toBeUndefined()
  expect(check('make --directory=/other test')).toBeUndefined()
  expect(check('cd /other && make -C /project test')).toMatchObject({ passed: true })
  expect(check('(cd /other && npm ci); npm test')).toEqual({ command: 'npm test', passed: true })
  expect(check('cd /project/web && npm test')).toEqual({ command: 'cd /project/web && npm test', passed: true })
})

test('does not count deleting a file that the run had written', () => {
  expect(commandWork('rm -f repro.py', { exitCode: 0, output: '', changedFiles: ['repro.py'] })).toBeUndefined()
  expect(commandWork('rm src/a.py', { exitCode: 0, output: '', changedFiles: ['repro.py'] })).toEqual({
    changedLines: 1,
  })
  expect(commandWork('rm reproduce_issue.py test_fix.py', { exitCode: 0, output: '' })).toBeUndefined()
  expect(commandWork('rm tests/test_a.py main.py', { exitCode: 0, output: '' })).toEqual({ changedLines: 2 })
  // If the files created by the run are known, names do not matter.
  const made = (command: string, madeFiles: readonly string[]): unknown =>
    commandWork(command, { exitCode: 0, output: '', changedFiles: ['repro.py', 'src/a.py'], madeFiles })
  expect(made('rm repro.py', ['repro.py'])).toBeUndefined()
  expect(made('rm repro.py src/a.py', ['repro.py'])).toEqual({ changedLines: 1 })
  expect(made('rm test_parser.py lib/repro.py', ['repro.py'])).toEqual({ changedLines: 2 })
  const seen = [{ path: 'repro.py', lines: 40, isDeleted: true as const }]
  expect(commandWork('git clean -f', { exitCode: 0, output: '', changedFiles: ['repro.py'], seen })).toBeUndefined()
})

const words = [
  'npm',
  'test',
  'pytest',
  '|',
  'tail',
  '-5',
  '&&',
  '||',
  ';',
  'true',
  '&',
  "'",
  '"',
  '$(',
  ')',
  '`',
  '{',
  '}',
  '<<',
  'EOF',
  '\n',
  '>',
  'a.js',
  '$?',
  '\\',
  'bash',
  '-c',
  'if',
  'then',
  'fi',
  '!',
  'cd',
  '\u0000',
  '😀',
  '\uD800',
]

test('never throws, and reports nothing but FileWork, for any command and output', () => {
  const lines = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.array(fc.constantFrom(...words), { maxLength: 30 }).map((parts) => parts.join(' ')),
  )
  fc.assert(
    fc.property(lines, lines, fc.constantFrom(0, 1, 127, null), (command, output, exitCode) => {
      const work = commandWork(command, { exitCode, output, changedFiles: [output, command, 'a.js'] })
      expect(work?.changedLines ?? 1).toBeGreaterThan(0)
      expect(work?.check?.command ?? 'none').toMatch(/^\S[^\n]*$/)
      expect(exitCode !== null || work?.check === undefined).toBe(true)
    }),
  )
})

test('passes no check behind a pipe whose output says that it failed', () => {
  const bad = fc.constantFrom(
    'FAIL src/a.test.js',
    '3 failed',
    '2 errors',
    'error TS2322: x',
    'not ok 1 - x',
    'AssertionError: x',
    'Traceback (most recent call last):',
    'Failures: 2',
    'BUILD FAILED',
    '--- FAIL: TestX',
    '1 failing',
    'make: *** [x] Error 2',
  )
  const good = fc.array(fc.constantFrom('ok', '5 passed', 'PASS a', '0 failed', 'built in 2s', '# fail 0', ''), {
    maxLength: 5,
  })
  fc.assert(
    fc.property(
      fc.constantFrom(...plainChecks.map(({ command }) => command).filter((line) => !/[;|&>\n<]/.test(line))),
      good,
      bad,
      good,
      (command, before, line, after) => {
        const output = [...before, line, ...after].join('\n')
        expect(commandWork(`${command} 2>&1 | tail -50`, { exitCode: 0, output })?.check?.passed ?? false).toBe(false)
      },
    ),
  )
})

test.each([
  ['a long pipe', (n: number) => 'npm test | tail '.repeat(n)],
  ['many commands', (n: number) => 'npm test; '.repeat(n)],
  ['a long word', (n: number) => `npm test ${'x'.repeat(n * 10)}`],
  ['many quotes', (n: number) => `echo ${'"a" '.repeat(n)}`],
  ['groups in groups', (n: number) => `${'('.repeat(n)}npm test${')'.repeat(n)}`],
  ['substitutions', (n: number) => `${'$('.repeat(n)}npm test${')'.repeat(n)}`],
])('takes a bounded time for %s', (_, made) => {
  // Anything slower than linear time would exceed the time of a test.
  const works = [10, 1000, 20_000].map((size) => commandWork(made(size), { exitCode: 0, output: made(size) }))
  expect(works).toHaveLength(3)
})

test.each(['1 ', 'failed ', 'a b ', 'Tests: ', '0', 'error', '\u001B[31m', ' '])(
  'reads a long output of %j in linear time',
  (text) => {
    const output = text.repeat(1_000_000)
    expect(commandWork('npm test | tail', { exitCode: 0, output })?.check?.passed).toBe(false)
  },
)
