// Holds the bounds of R-RULE-7 and R-RULE-7i of docs/spec: the judge is quick and never fails, for commands of any size.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { analyseShell } from '../../src/shell/analysis.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { drawn } from '../support/deep.ts'
import { CommandMaker, randomFrom } from './fuzz-grammar.ts'
import { judged } from './support.ts'
import { worstCommands } from './worst-commands.ts'

const books = [
  {},
  { mode: 'acceptEdits' },
  { mode: 'bypassPermissions', deny: ['Bash(rm:*)', 'Read(.env)', 'Edit(secret/**)'] },
  { allow: ['Bash(git status:*)'], deny: ['Bash(rm:*)', 'Read(.env)'] },
  { allow: ['Bash'], deny: ['Bash(git push --force *)', 'Bash(npm publish *)', 'Bash(rm -rf *)', 'Edit(src/**)'] },
] as const

// `bench/judge.mjs` measures the time. The test timeout ends endless cases.
test.each(worstCommands)(
  '$name is judged quickly',
  ({ command }) => {
    const cwd = temporaryFolder()
    for (let at = 0; at < 20; at += 1) writeFileSync(join(cwd, `file-${at}.ts`), 'x')
    for (const book of books) expect(['allow', 'ask', 'deny']).toContain(judged(command, { cwd, ...book }))
  },
  20_000,
)

test.each(worstCommands)('$name is analyzed in half a second of CPU', ({ command }) => {
  // A busy machine may need a second try.
  const times = [0, 1].map((at) => {
    const before = process.cpuUsage()
    analyseShell(command.slice(0, 49_990) + ' '.repeat(at))
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000
  })
  expect(Math.min(...times)).toBeLessThan(500)
})

const pieces = [...Array.from("'\"`$(){}[]<>|&;\\\n\t #!*?~=+-%@^:,./0aZ"), '\0', '\r', '\u00E9', '\u{1F600}', '\uD800', '$((', '))', '${', '<<E', '\nE\n', '[[ ', ' ]]', '<(', '$\'', 'case x in', 'esac', 'for f in ', 'do ', 'done', 'if ', 'then ', 'fi', 'sed ', 'awk ', 'find . ', 'git ', '-exec ', 'x='] // prettier-ignore

test('arbitrary text never makes the judge fail', () => {
  const random = randomFrom(7)
  const cwd = temporaryFolder()
  const maker = new CommandMaker(11)
  const pick = (): string => pieces[Math.floor(random() * pieces.length)]!
  for (let round = 0; round < drawn(1000); round += 1) {
    let command = round % 2 === 0 ? '' : maker.next()
    for (let count = Math.floor(random() * 30); count > 0; count -= 1) {
      const at = Math.floor(random() * (command.length + 1))
      command = command.slice(0, at) + pick() + command.slice(at + (random() < 0.2 ? 2 : 0))
    }
    for (const book of books) expect(['allow', 'ask', 'deny']).toContain(judged(command, { cwd, ...book }))
  }
}, 120_000)

test('arbitrary bytes never make the judge fail', () => {
  const random = randomFrom(13)
  const cwd = temporaryFolder()
  for (let round = 0; round < drawn(2000); round += 1) {
    const bytes = Uint8Array.from({ length: Math.floor(random() * 80) }, () => Math.floor(random() * 256))
    for (const encoding of ['latin1', 'utf8'] as const)
      expect(['allow', 'ask']).toContain(judged(Buffer.from(bytes).toString(encoding), { cwd }))
  }
}, 120_000)

test.each([
  '(',
  '{ ',
  '$(',
  '`',
  '"$(',
  '${x:-',
  '[[ ( ',
  '$((',
  'if ',
  'while ',
  '! ',
  'case x in (',
  '<(',
  'f() { ',
  "bash -c '",
  'sudo ',
  'eval ',
  '{a,',
  'a && ',
  'cat <<E\n',
  '((',
])('nesting of %j never makes the judge fail', (piece) => {
  const cwd = temporaryFolder()
  for (const depth of [10, 90, 110, 1000, 20_000])
    for (const book of books) expect(['ask', 'deny', 'allow']).toContain(judged(piece.repeat(depth), { cwd, ...book }))
})
