// Words are judged as bash expands them: our expansions are compared with those of bash.
import { spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { placesOf } from '../../src/permissions/places.ts'
import { kernelPath, realPath } from '../../src/files/paths.ts'
import { analyseShell } from '../../src/shell/analysis.ts'
import { bracesOf } from '../../src/shell/braces.ts'
import { drawn } from '../support/deep.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** The arguments that programs receive, one list for each call of `show`. */
function wordsByBash(script: string, cwd: string): readonly (readonly string[])[] {
  const { stdout } = spawnSync(
    'bash',
    ['-c', `show() { [ $# = 0 ] || printf '%s\\0' "$@"; printf '\\n\\0'; }; ${script}`],
    {
      cwd,
      encoding: 'utf8',
    },
  )
  return stdout
    .split('\n\0')
    .slice(0, -1)
    .map((list) => list.split('\0').slice(0, -1))
}

/** The same from the analysis; undefined if it does not know them. */
function wordsByAnalysis(script: string): readonly (readonly string[])[] | undefined {
  const calls = analyseShell(script).commands.filter(({ words }) => words[0]?.value === 'show')
  const isKnown = calls.every(({ words }) => words.every(({ kind }) => kind === 'literal'))
  return isKnown ? calls.map(({ words }) => words.slice(1).map(({ value }) => value)) : undefined
}

const piece = fc.constantFrom(
  'a',
  'b',
  '.',
  '/',
  '{',
  '}',
  ',',
  '1',
  '3',
  '..',
  '-',
  '=',
  '{a,b}',
  '{1..3}',
  '{3..1}',
  '{,x}',
  '%',
)

describe('words', () => {
  test('expand braces like bash', () => {
    const cwd = temporaryFolder()
    const samples = fc
      .sample(fc.array(piece, { minLength: 1, maxLength: 8 }), drawn(3000))
      .map((pieces) => pieces.join(''))
    // The first one gives no word at all.
    const texts = ['{,}', ...new Set(samples)].filter(
      (text) => bracesOf(text) !== undefined && !text.startsWith('-') && text !== '}' && text !== '{',
    )
    const lists = wordsByBash(texts.map((text) => `show ${text}`).join('\n'), cwd)
    expect(texts.length).toBeGreaterThan(50)
    expect(texts.map((text) => [text, bracesOf(text)?.filter(Boolean)])).toEqual(
      texts.map((text, at) => [text, lists[at]]),
    )
  })

  test('give escapes their value in bash, or leave them unknown', () => {
    const codes = Array.from({ length: 256 }, (_, code) => code)
    const hex = (code: number): string => code.toString(16)
    const forms = codes.flatMap((code) => [
      `\\x${hex(code)}`,
      `\\x${hex(code).padStart(2, '0')}`,
      `\\x{${hex(code)}}`,
      `\\x{${hex(code)}`,
      `\\x00${hex(code)}`,
      `\\u${hex(code)}`,
      `\\u${hex(code).padStart(4, '0')}`,
      `\\U${hex(code).padStart(8, '0')}`,
      `\\${code.toString(8)}`,
      `\\${code.toString(8).padStart(3, '0')}`,
      `\\0${code.toString(8)}`,
      `\\${(code + 256).toString(8)}`,
      ...(code < 32 || code > 126 || code === 39 ? [] : [`\\${String.fromCharCode(code)}`]),
      ...(code < 32 || code > 126 || code === 39 || code === 92 ? [] : [`\\c${String.fromCharCode(code)}`]),
    ])
    const odd = [
      '\\ud83d\\ude00',
      '\\ud800',
      '\\U110000',
      '\\777',
      '\\x',
      '\\u',
      '\\x{}',
      '\\x{zz}',
      '\\c',
      '\\\n',
      '\u00E9',
    ]
    const inside = [...forms, ...odd].flatMap((form) => [form, `p${form}q`, `${form}1`, `${form}f`, `${form}}`])
    const texts = inside
      .map((text) => `$'${text}'`)
      // A backslash at the end would escape the closing quote.
      .filter((text) => /^\$'(?:\\.|[^\\'])*'$/s.test(text))
    const ours = texts.map((text) => analyseShell(`show ${text}`).commands[0]?.words[1])
    const known = texts.filter((_, at) => ours[at]?.kind === 'literal')
    // A quoted tilde is written as a file of this folder.
    const values = ours.flatMap((word) => (word?.kind === 'literal' ? [word.value.replace(/^\.\/~/, '~')] : []))
    expect(known.length).toBeGreaterThan(1000)
    expect(known.every((text) => !/\\(?:x\{|u|U|c|[2-7]|x[89a-f])/.test(text))).toBe(true)
    const input = known.map((text) => `printf '%s\\0' ${text}`).join('\n')
    const { stdout } = spawnSync('bash', { input, encoding: 'utf8' })
    expect(known.map((text, at) => [text, values[at]])).toEqual(
      stdout
        .split('\0')
        .slice(0, -1)
        .map((value, at) => [known[at], value]),
    )
  })

  test('lose their quotes like in bash, or are unknown', () => {
    const pieces = ["'", '"', '\\', '$', '`', 'a', 'b', ' ', '{', '}', ',', '..', '~', '/', '#', '!', '=', '[', ']', '*', "$'", '\\\n', '\\n', '\\x2d', '"a"', "'b'", '{a,b}', '$f', '"$f"', '${f}', '\u00E9', '-'] // prettier-ignore
    const words = fc
      .sample(fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 8 }), drawn(20_000))
      .map((list) => `f=c; show ${list.join('')}`)
    const isKnown = (script: string): boolean => {
      const { opaque, commands } = analyseShell(script)
      const last = commands.at(-1)
      return (
        opaque.length === 0 && commands.length === 2 && last?.words.every(({ kind }) => kind === 'literal') === true
      )
    }
    const known = [...new Set(words)].filter(isKnown)
    expect(known.length).toBeGreaterThan(words.length / 20)
    const home = process.env['HOME'] ?? ''
    const ours = known.map((script) =>
      (wordsByAnalysis(script)?.[0] ?? []).map((value) => value.replace(/^~/, home).replace(/^\.\/~/, '~')),
    )
    const lists = wordsByBash(known.map((script) => `( ${script}\n )`).join('\n'), temporaryFolder())
    expect(known.map((script, at) => [script, ours[at]])).toEqual(known.map((script, at) => [script, lists[at]]))
  })

  test('expand variables, quotes and loops like bash, or are unknown', () => {
    const cwd = temporaryFolder()
    const plain = fc.constantFrom(
      'f=a',
      'f=b',
      'g=$f',
      'g="$f/x"',
      "f='c d'",
      'f=',
      'show $f',
      'show "$f"',
      'show "$f/$g" x',
      'show ${f}y "${g}"',
      "show '$f'",
      'show \\$f',
      'show "${f:-z}"',
      'for f in 1 2; do show $f; done',
      'for f in {1..2} "$g"; do show "$f"; done',
      'for h in x y; do for f in 1 2; do show "$h$f"; done; show "$f"; done',
    )
    const odd = fc.constantFrom(
      'true && f=c',
      'false && f=d',
      'f=e && show "$f"',
      'false && f=g && show "$f"',
      '(f=h; show "$f")',
      'if false; then f=i; fi',
      'while false; do f=j; done',
      'f=k true',
      'f=l | true',
      'read f <<< m',
      'printf -v f n',
      ': ${f:=o}',
      'f+=p',
      'unset f',
      'x() { f=q; }; x',
      '{ f=r; }',
      '((f=5))',
      'declare f=s',
      'eval f=t',
      'show $f{a,b}',
      'show {$f,b}',
      'IFS=b',
    )
    const statement = fc.oneof({ arbitrary: plain, weight: 12 }, { arbitrary: odd, weight: 1 })
    let known = 0
    fc.assert(
      fc.property(fc.array(statement, { minLength: 2, maxLength: 6 }), (statements) => {
        const script = ['f=a', 'g=b', ...statements].join('\n')
        const ours = wordsByAnalysis(script)
        if (ours === undefined || ours.length === 0) return
        known += 1
        const real = wordsByBash(script, cwd)
        const same = (list: readonly string[], other: readonly string[]): boolean =>
          JSON.stringify(list) === JSON.stringify(other)
        // The analysis includes branches that are not taken.
        const isTrue = /&& |if |while /.test(script)
          ? real.every((list) => ours.some((other) => same(list, other)))
          : JSON.stringify(real) === JSON.stringify(ours)
        expect([script, isTrue ? 'as bash' : { ours, real }]).toEqual([script, 'as bash'])
      }),
      { numRuns: drawn(300) },
    )
    expect(known).toBeGreaterThan(drawn(60) / 2)
  })

  test('with patterns match at least the files that bash finds', () => {
    const cwd = temporaryFolder()
    for (const name of ['a', 'ab', 'b', '.h', 'B', '-x', 'a b', 'd/a', 'd/.e', 'd/x/y', '[x]', 'x*y', 'c.txt']) {
      mkdirSync(join(cwd, name, '..'), { recursive: true })
      writeFileSync(join(cwd, name), '')
    }
    symlinkSync(join(cwd, 'd'), join(cwd, 'l'))
    const part = fc.constantFrom(
      '*',
      '?',
      '[ab]',
      '[!a]',
      '[a-c]',
      'a',
      'b',
      '.',
      '/',
      'd/',
      'x',
      '"*"',
      "'['",
      '\\*',
      '-',
      'l/',
      '**',
    )
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 5 }), (parts) => {
        const text = parts.join('')
        const [command] = analyseShell(`show ${text}`).commands
        const word = command?.words[1]
        // At the root there are processes, which come and go.
        if (word?.kind !== 'glob' || text.startsWith('/')) return
        const places = placesOf(word, { directories: [cwd], isUnknown: false })
        if (places.isUnknown) return
        const found = (wordsByBash(`shopt -s nullglob; show ${text}`, cwd)[0] ?? [])
          .filter(Boolean)
          .map((name) => realPath(kernelPath(name, cwd)))
        const ours = new Set(places.paths.map((path) => realPath(path)))
        expect([text, found.filter((name) => !ours.has(name))]).toEqual([text, []])
      }),
      { numRuns: drawn(300) },
    )
  })

  test('resolve paths like the kernel', () => {
    const root = temporaryFolder()
    mkdirSync(join(root, 'a/b/c'), { recursive: true })
    mkdirSync(join(root, 'd/e'), { recursive: true })
    symlinkSync(join(root, 'd/e'), join(root, 'a/l'))
    symlinkSync('../../d', join(root, 'a/b/m'))
    symlinkSync('l', join(root, 'a/n'))
    const segment = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'l', 'm', 'n', '..', '.')
    const cwd = join(root, 'a')
    fc.assert(
      fc.property(fc.array(segment, { minLength: 1, maxLength: 7 }), (segments) => {
        const path = segments.join('/')
        const { status, stdout } = spawnSync('realpath', ['-e', path], { cwd, encoding: 'utf8' })
        const ours = status === 0 ? realPath(kernelPath(path, cwd)) : ''
        expect([path, ours]).toEqual([path, stdout.trim()])
      }),
      { numRuns: drawn(200) },
    )
  })
})
