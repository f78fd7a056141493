// Tests R-RULE-7g, R-RULE-7h and R-RULE-7i of docs/spec: a line is read twice, and asks if the readings differ.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { forEachChild, parse, type SyntaxNode } from 'unbash'
import { ambiguousCoproc, lastLineContinued, notParsedReliably } from '../../src/shell/shell-texts.ts'
import { analyseShell } from '../../src/shell/analysis.ts'
import { answerOfExitOne } from '../../src/shell/exit-answer.ts'
import { lexShell } from '../../src/shell/lexer.ts'
import { drawn } from '../support/deep.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { readCorpus } from './corpus/read-corpus.ts'
import { CommandMaker } from './fuzz-grammar.ts'
import { judged } from './support.ts'

const daily = readFileSync(new URL('corpus/friction.txt', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !/^(?:==|\/\/)/.test(line))
  .map((line) => line.replaceAll('⏎', '\n'))

const join = '\\\n'

/** The output of each script. No programs are found, so a wrongly split word runs nothing. */
function outputsOf(scripts: readonly string[]): readonly string[] {
  const options = { cwd: temporaryFolder(), encoding: 'utf8', env: { PATH: '/nowhere' } } as const
  const functions = `show() { printf '<%s>' "$@"; printf '\\n'; }; cat() { while read -r line; do printf '%s\\n' "$line"; done; }; `
  return scripts.map((script) => spawnSync('/bin/bash', ['-c', functions + script], options).stdout)
}

describe('line continuations', () => {
  test.each([
    [`ls ${join}-l`, 'ls -l'],
    [`l${join}s`, 'ls'],
    [`echo $${join}(ls)`, 'echo $(ls)'],
    [`echo "a${join}b"`, 'echo "ab"'],
    [`echo 'a${join}b'`, `echo 'a${join}b'`],
    [`echo $'a${join}b'`, `echo $'a${join}b'`],
    [`echo $${join}'a'`, `echo $'a'`],
    [`echo a\\\\\nls`, `echo a\\\\\nls`],
    [`# a${join}ls`, `# a${join}ls`],
    [`cat <${join}<E\na${join}b\nE`, 'cat <<E\nab\nE'],
    [`cat <<'E'\na${join}b\nE`, `cat <<'E'\na${join}b\nE`],
    [`cat <<E\na\nE${join}F\nE`, 'cat <<E\na\nEF\nE'],
    [`echo \${x:-a${join}b}`, 'echo ${x:-ab}'],
    [`echo "$(cat <<'E'\na${join}b\nE\n)"`, `echo "$(cat <<'E'\na${join}b\nE\n)"`],
  ])('%j is read as %j', (raw, joined) => {
    expect(lexShell(raw)).toMatchObject({ kind: 'read', text: joined })
  })

  test.each([
    [`ls ${join}`, lastLineContinued],
    [`cat <<E\n$(echo 'a${join}b')\nE`, 'a here-document joins lines within quotes'],
    [`echo \`ls ${join}\``, 'backticks are not closed, or contain backslashes or quotes'],
  ])('%j is rejected', (raw, why) => {
    expect(lexShell(raw)).toEqual({ kind: 'unreadable', why })
  })

  test('bash reads the joined text in the same way', () => {
    const pieces = ['show a', "show 'b c'", 'show "d $f"', 'show $f', 'show $(show e)', "show $'g\\th'", 'f=i', 'show {j,k}', 'cat <<E\nl $f $(show m)\nE\n', "cat <<'E'\nn $f\nE\n", 'if true; then show o; fi', 'for x in p q; do show $x; done', '[[ -n $f ]] && show r', '# s', 'show "${f:-t}" ${f%i}', 'show \\$ \\u', 'case $f in i) show v;; *) show w;; esac', 'show <(true) x | cat > /dev/null'] // prettier-ignore
    const at = fc.integer({ min: 0, max: 1000 })
    const scripts = fc
      .sample(
        fc.tuple(fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 4 }), fc.array(at, { maxLength: 4 })),
        drawn(1500),
      )
      .map(([lines, places]) => {
        let script = lines.join('\n')
        for (const place of places) {
          const cut = place % (script.length + 1)
          script = script.slice(0, cut) + join + script.slice(cut)
        }
        return script
      })
    const read = scripts.flatMap((script) => {
      const lexed = lexShell(script)
      return lexed.kind === 'read' ? [{ script, text: lexed.text }] : []
    })
    expect(read.length).toBeGreaterThan(scripts.length / 3)
    const [raw, joined] = [outputsOf(read.map(({ script }) => script)), outputsOf(read.map(({ text }) => text))]
    expect(read.map(({ script }, index) => [script, joined[index]])).toEqual(
      read.map(({ script }, index) => [script, raw[index]]),
    )
  }, 120_000)
})

describe('two readings', () => {
  test('agree on commands of daily use', () => {
    const asked = daily.filter((command) => /parsed|plain text|one way/.test(analyseShell(command).opaque[0] ?? ''))
    expect(asked).toEqual([])
  })

  test('visit every word of a tree', () => {
    const maker = new CommandMaker(5)
    const generated = Array.from({ length: drawn(3000) }, () => maker.next())
    for (const command of [...daily, ...readCorpus('commands').map((row) => row.command), ...generated]) {
      const script = parse(command)
      let visited = 0
      const visit = (node: SyntaxNode): void => {
        if (node.type === 'Word') visited += 1
        forEachChild(node, visit)
      }
      visit(script)
      expect([command, visited]).toEqual([command, countWords(script)])
    }
  })

  test.each([
    ['a=(x)`ls`', 'a substitution after an array'],
    ['a=(2>(ls))', 'a process substitution as a value'],
    ['[[ -n 2>(ls) ]]', 'a process substitution in a test'],
    ['case 2>(ls) in *) ls;; esac', 'a process substitution as the word of a case'],
    ['2>(ls)', 'a process substitution as the name of a command'],
    ['echo "${a:-"$"(ls)}"', 'quotes within quotes'],
    ['ls --x=<(ls)', 'a word that the parser splits'],
    ['echo $"ls"', 'a translated text'],
    ['echo $[1+1]', 'arithmetic in $[…]'],
    ['echo `echo \\`ls\\``', 'backslashes between backticks'],
    ['coproc ls', 'a coproc'],
    ['grep a$ b.ts', 'a dollar sign that expands nothing'],
    ["ls >&'x y'", 'a file name that is expanded twice'],
    ['ls @(a|b)', 'an extended pattern'],
    ["echo 'a", 'a quote that is not closed'],
    ['ls )', 'a parenthesis that was not opened'],
    ['cat <<E\nE)', 'a here-document that may end in two places'],
    ['cat <<E<(echo a)\nE\nls\nE<(echo a)', 'a substitution that belongs to the delimiter'],
    ['cat <<E<\\\n(echo a)\nE', 'a substitution that belongs to the delimiter'],
  ])('%j asks: %s', (command) => {
    expect(analyseShell(command).opaque.length).toBeGreaterThan(0)
    expect(judged(command, { cwd: '/', allow: ['Bash(ls:*)', 'Bash(cat:*)', 'Bash(echo:*)'] })).toBe('ask')
  })
})

const restored = process.env['LC_ALL']
afterEach(() => {
  if (restored === undefined) delete process.env['LC_ALL']
  else process.env['LC_ALL'] = restored
})

// In GBK the last byte of the sign and the backslash form one character, so that the quote ends and the rest runs.
test('text asks if another encoding would change its meaning', () => {
  const line = String.raw`echo "€"; ls #"`
  expect(judged(line, { cwd: '/' })).toBe('allow')
  expect(
    judged(
      `LC_ALL=zh_CN.GBK
${line}`,
      { cwd: '/' },
    ),
  ).toBe('ask')
  expect(
    judged(
      `for LC_CTYPE in zh_CN.GBK; do ls; done
${line}`,
      { cwd: '/' },
    ),
  ).toBe('ask')
  process.env['LC_ALL'] = 'zh_CN.GBK'
  expect(judged(`${line} `, { cwd: '/' })).toBe('ask')
  expect(judged('echo "e"; ls', { cwd: '/' })).toBe('allow')
})

/** Finds words by their shape, without knowing the types of nodes. */
function countWords(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + countWords(item), 0)
  if (typeof value !== 'object' || value === null) return 0
  // The parser computes parts lazily.
  const own = 'toJSON' in value && typeof value.toJSON === 'function' ? value.toJSON() : value
  const here = own.type === 'Word' ? 1 : 0
  return here + Object.values(own).reduce((sum: number, item) => sum + countWords(item), 0)
}

test('exit code 1 is not explained for a line that bash may read differently', () => {
  expect(answerOfExitOne('grep a b')).toBe('no match')
  expect(answerOfExitOne(`gr${join}ep a b`)).toBe('no match')
  expect(answerOfExitOne('grep a b 2>(ls)')).toBeUndefined()
  expect(answerOfExitOne("grep 'a")).toBeUndefined()
})

test.each([
  ["echo 'a", 'it could not be parsed: unterminated single quote'],
  ['ls )', "it could not be parsed: unexpected token ')'"],
  ['if ls; then', 'it could not be parsed'],
  ['coproc ls', notParsedReliably(ambiguousCoproc)],
  ['echo $(ls', 'it could not be parsed: unterminated command substitution'],
  ['ls >', 'it could not be parsed: expected redirect target'],
])('%j asks with a reason in plain words', (command, why) => {
  expect(analyseShell(command).opaque[0]).toContain(why)
})
