// The calls that results name for a model work as they are, whatever the names of files are, and wherever they are.
import { mkdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { codingTools, type Harness, temporaryFolder } from './support/harness.ts'

type ToolResult = Awaited<ReturnType<Harness['use']>>

/** Makes the call that a text names: `Read with {"file_path": "a.ts"}`. */
async function follow({ use }: Harness, { text }: Pick<ToolResult, 'text'>): Promise<ToolResult> {
  const named = /(?:use|try) ([A-Z]\w+) with (?=\{)/i.exec(text)
  if (named === null) throw new Error(`no call in: ${text}`)
  const from = named.index + named[0].length
  for (let end = from + 2; end <= text.length; end++) {
    try {
      return await use(named[1] ?? '', JSON.parse(text.slice(from, end)))
    } catch (thrown) {
      if (!(thrown instanceof SyntaxError)) throw thrown
    }
  }
  throw new Error(`no input in: ${text}`)
}

const names = ['with space', `quo'te"s`, 'ünï 日本', 'a[1]', 'back\\slash', '{a,b}', '~', '-dash', '$HOME']
const places = ['in the working directory', 'elsewhere'] as const

describe.each(places)('calls that results name for files %s', (place) => {
  test.each(names)('work for %j', async (name) => {
    const harness = codingTools({ readLines: 3 })
    const base = place === 'elsewhere' ? temporaryFolder() : harness.cwd
    const folder = join(base, name)
    const file = join(folder, `${name}.ts`)
    mkdirSync(join(folder, 'sub'), { recursive: true })
    writeFileSync(file, '1\n2\n3\n4\n5\n')
    writeFileSync(join(folder, 'sub/deep.ts'), 'x\n')
    const { use } = harness

    const edit = { file_path: file, old_string: '3', new_string: 'three' }
    expect((await follow(harness, await use('Edit', edit))).text).toContain('     3\t3')
    expect((await use('Edit', edit)).isError).toBe(false)
    expect((await follow(harness, await use('Read', { file_path: file }))).text).toBe('     4\t4\n     5\t5')
    expect((await follow(harness, await use('Read', { file_path: folder }))).text).toContain('deep.ts')
    expect((await follow(harness, await use('Glob', { pattern: '*', path: file }))).text).toContain('     1\t1')
    const none = { pattern: 'none/deep.ts', path: base }
    expect((await follow(harness, await use('Glob', none))).text).toMatch(/deep\.ts$/)
    const asPattern = await use('Glob', { pattern: name, path: base })
    expect((await follow(harness, asPattern)).text).toContain('deep.ts')
  })
})

test.each(names)('the search for %j finds it in another folder', async (name) => {
  const harness = codingTools()
  mkdirSync(join(harness.cwd, 'src'))
  writeFileSync(join(harness.cwd, 'src', `${name}.ts`), 'x\n')
  const missing = await harness.use('Read', { file_path: join(harness.cwd, 'lib', `${name}.ts`) })
  const { text } = await follow(harness, missing)
  expect(text.split('\n\n')[0]).toBe(join('src', basename(`${name}.ts`)))
})

test('does not retry a pattern of only wildcards at any depth', async () => {
  const { use } = codingTools()
  expect((await use('Glob', { pattern: 'none/**' })).text).not.toContain('**/**')
})

describe('a failed Edit whose surrounding lines are too long to be shown completely', () => {
  const lines = Array.from({ length: 60 }, (_, index) => `  line ${index + 1}`)
  test.each([
    ['has many lines', lines],
    ['has a long line', ['  one', `  ${'x'.repeat(700)}`]],
    ['has many characters', Array.from({ length: 30 }, (_, index) => `  ${index} ${'y'.repeat(400)}`)],
  ])('names the Read that shows it: it %s', async (_, place) => {
    const harness = codingTools()
    const { use, cwd } = harness
    writeFileSync(join(cwd, 'a.ts'), `first\n${place.join('\n')}\nlast\n`)
    await use('Read', { file_path: 'a.ts' })
    const edit = { file_path: 'a.ts', old_string: place.map((line) => line.slice(1)).join('\n'), new_string: 'new' }
    const refused = await use('Edit', edit)
    expect(refused.text).not.toContain('The lines above are the current text')
    // Each line is complete, or marked as cut.
    expect(refused.text.match(/y+/g)?.every((part) => part.length === 400 || part.length < 100) ?? true).toBe(true)
    const shown = await follow(harness, refused)
    const oldString = shown.text
      .split('\n\n')[0]
      ?.split('\n')
      .map((line) => line.replace(/^ *\d+\t/, ''))
      .join('\n')
    expect((await use('Edit', { ...edit, old_string: oldString })).isError).toBe(false)
  })
})

test('shows overlapping lines once if an Edit matches several times', async () => {
  const { use, cwd } = codingTools()
  writeFileSync(join(cwd, 'a.ts'), 'a\none\none\none\nb\nc\nd\ne\nf\none\n')
  await use('Read', { file_path: 'a.ts' })
  const { text } = await use('Edit', { file_path: 'a.ts', old_string: 'one', new_string: 'two' })
  expect(text.split('\n').slice(1)).toEqual(
    ['a', 'one', 'one', 'one', 'b', 'c'].map((line, index) => `     ${index + 1}\t${line}`),
  )
})

test('TaskOutput shows the end of a long failed command first', async () => {
  const { use } = codingTools({ bashOutputCharacters: 1_000 })
  await use('Bash', { command: 'seq 1 1000; echo THE REASON; exit 3', run_in_background: true })
  const { text } = await use('TaskOutput', { task_id: 'bash_1' })
  expect(text).toMatch(/^Ended with exit code 3\.\nThe end of the output:\n/)
  expect(text.indexOf('THE REASON')).toBeLessThan(text.indexOf('\n1\n2\n3\n'))
})
