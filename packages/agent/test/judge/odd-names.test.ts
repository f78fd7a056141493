// Holds R-RULE-5b of docs/spec: a name that is not UTF-8 cannot be judged, and asks.
import { execFileSync } from 'node:child_process'
import { linkSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPermissions, type PermissionOptions } from '@halting/policy'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { realPath } from '@halting/journal/files'
import { isDeep } from '../support/deep.ts'
import { codingTools } from '../support/harness.ts'
import { bashCall, judged } from '../../../policy/test/judge/support.ts'

let base: string
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'halting-odd-')))
  for (const folder of ['project/src/deep', 'outside/deep', 'home']) mkdirSync(at(folder), { recursive: true })
  for (const file of ['project/src/a.ts', 'project/.env', 'outside/deep/y']) writeFileSync(at(file), `${file}\n`)
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

const at = (name: string): string => join(base, name)
/** Creates names that no text can represent. */
const bash = (script: string): void => void execFileSync('bash', ['-ec', script], { cwd: at('project') })

function says(name: 'Read' | 'Edit' | 'Grep', path: string, options: Partial<PermissionOptions> = {}): string {
  const { call, tool } = bashCall('')
  const readOnly = name !== 'Edit'
  const request = { call: { ...call, name, input: { file_path: path, path } }, tool: { ...tool, name }, readOnly }
  const decision = createPermissions({ cwd: at('project'), ...options }).decide(request)
  return decision instanceof Promise ? 'later' : decision.behavior
}

describe('a path that differs from its parsed form', () => {
  test('is neither read nor changed without a rule for everything, in any position', () => {
    bash(String.raw`mkdir $'d\xff'; echo x > $'d\xff/x'; ln -s $'d\xff/x' link; ln -s $'d\xff' folder`)
    for (const path of ['d\uFFFD/x', 'link', 'folder/x', 'folder/new', 'a\uD800', 'new\uFFFD']) {
      expect([path, says('Read', path), says('Edit', path, { mode: 'acceptEdits' })]).toEqual([path, 'ask', 'ask'])
      const options = { cwd: at('project'), mode: 'acceptEdits' as const, allow: ['Edit(./**)', 'Read(//**)'] }
      for (const command of [
        `cat '${path}'`,
        `cat < '${path}'`,
        `echo x > '${path}'`,
        `touch '${path}'`,
        `rm '${path}'`,
      ])
        expect([command, judged(command, options)]).toEqual([command, 'ask'])
    }
    expect(says('Grep', 'folder')).toBe('ask')
    expect(says('Read', 'src/a.ts')).toBe('allow')
  })

  test('does not affect other arguments, unless a pattern matches it', () => {
    bash(String.raw`mkdir $'d\xff'; echo x > $'src/deep/x\xff'`)
    const options = { cwd: at('project'), mode: 'acceptEdits' as const }
    for (const command of [
      'cat src/a.ts',
      'ls src/*.ts',
      'ls',
      'ls -R',
      'grep -r x .',
      'echo x > src/b.ts',
      'rm src/a.ts',
    ])
      expect([command, judged(command, options)]).toEqual([command, 'allow'])
    for (const command of ['ls *', 'cat src/deep/*', 'ls */a.ts', 'rm src/deep/*.ts', 'rm -rf src', 'mv src lib'])
      expect([command, judged(command, options)]).toEqual([command, 'ask'])
  })

  test('as the folder of a shell makes relative paths unknown', () => {
    bash(String.raw`mkdir $'d\xff'`)
    const options = { cwd: at('project'), shellDirectory: () => at('project/d\uFFFD'), mode: 'acceptEdits' as const }
    for (const command of ['cat x', 'ls', 'echo x > y', 'rm -rf *']) expect(judged(command, options)).toBe('ask')
  })
})

test('a folder containing a link whose name is not UTF-8 is not moved, removed or copied without asking', () => {
  bash(String.raw`mkdir -p m/n; ln -s ../../src $'m/n/k\xff'`)
  const options = { cwd: at('project'), mode: 'acceptEdits' as const }
  for (const command of ['mv m/n n', 'cp -r m/n n', 'mv m/n src', 'rm -rf m', 'diff -r m src'])
    expect([command, judged(command, options)]).toEqual([command, 'ask'])
})

test('searches omit such names if a rule denies reading files', async () => {
  bash(String.raw`ln .env $'h\xff'; echo KEY > $'plain\xff'; echo KEY > plain; echo KEY >> .env`)
  const search = async (deny: readonly string[]): Promise<readonly string[]> => {
    const permissions = createPermissions({ cwd: at('project'), deny })
    const { use } = codingTools({}, { cwd: at('project'), hides: (path) => permissions.deniesReading(path) })
    const found = [await use('Grep', { pattern: 'KEY' }), await use('Glob', { pattern: '*' })]
    return found.map(({ text }) => text.split('\n').toSorted().join(' '))
  }
  expect(await search(['Read(.env)'])).toEqual(['plain', 'plain src/a.ts'])
  expect(await search(['Edit(.env)', 'Bash(rm *)'])).toEqual([
    '.env h\uFFFD plain plain\uFFFD',
    '.env h\uFFFD plain plain\uFFFD src/a.ts',
  ])
})

test.skipIf(!isDeep)(
  'searching for aliases of denied files in many folders takes bounded time, and then asks',
  () => {
    mkdirSync(at('project/secret'))
    for (let n = 0; n < 5_000; n += 1) writeFileSync(at(`project/secret/${n}`), '')
    linkSync(at('project/secret/1'), at('project/other'))
    const folders = Array.from({ length: 150 }, (_, n) => `d${n}`)
    for (const folder of folders) {
      mkdirSync(at(`project/${folder}`))
      for (let n = 0; n < 200; n += 1) writeFileSync(at(`project/${folder}/${n}`), '')
    }
    for (const allow of [[], ['Bash'], []]) {
      const before = process.cpuUsage()
      const options = { cwd: at('project'), deny: ['Read(/secret/**)'], allow }
      expect(judged(`grep -r x ${folders.join(' ')}`, options)).toBe('ask')
      const { user, system } = process.cpuUsage(before)
      expect((user + system) / 1_000).toBeLessThan(1_000)
    }
  },
  60_000,
)

describe('a dangling link', () => {
  test('is followed like the kernel does: a link in it before `..` goes up', () => {
    symlinkSync(at('outside/deep'), at('project/in'))
    symlinkSync('in/../new', at('project/one'))
    symlinkSync('one', at('project/two'))
    symlinkSync('./in/.././../outside/in/../new', at('project/three'))
    symlinkSync('nothing/../new', at('project/four'))
    expect(['one', 'two', 'in/../new'].map((name) => realPath(join(at('project'), name)))).toEqual([
      at('outside/new'),
      at('outside/new'),
      at('project/new'),
    ])
    // Nothing can be created there: what is missing has nothing above it.
    expect(realPath(at('project/three'))).toBe(at('outside/new'))
    expect(realPath(at('project/four'))).toBe(at('project/new'))
  })

  test('in a chain that doubles at each step takes bounded time', () => {
    for (let n = 0; n < 60; n += 1) symlinkSync(`${`l${n + 1}/../`.repeat(500)}l${n + 1}`, at(`project/l${n}`))
    const began = performance.now()
    expect(typeof realPath(at('project/l0'))).toBe('string')
    expect(performance.now() - began).toBeLessThan(500)
  })
})
