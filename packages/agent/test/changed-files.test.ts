// Holds rule R-HAND-7 of docs/spec.
import { everyTool } from '../src/tools/available-tools.ts'
import { mkdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { changedSinceRead } from '../src/tools/change-texts.ts'
import { codingTools, type Harness } from './support/harness.ts'

const note = '[Changed on disk since you saw it, not by your own file edits. Read it again before you rely on it.'

async function withRead(files: Readonly<Record<string, string>>): Promise<Harness> {
  const harness = codingTools()
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(harness.cwd, name), content)
    await harness.use('Read', { file_path: name })
  }
  writeFileSync(join(harness.cwd, 'other'), 'other\n')
  return harness
}

describe("a file that changed without the agent's knowledge", () => {
  test('is reported with the next result, with what changed, and only once', async () => {
    const { use, cwd } = await withRead({ a: 'one\ntwo\nthree\nfour\n' })
    writeFileSync(join(cwd, 'a'), 'one\n2\nthree\nfour\n')
    expect((await use('Read', { file_path: 'other' })).text).toBe(
      `     1\tother\n\n${note}\na:\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three]`,
    )
    expect((await use('Read', { file_path: 'other' })).text).toBe('     1\tother')
    writeFileSync(join(cwd, 'a'), 'nothing\n')
    expect((await use('Glob', { pattern: 'other' })).text).toContain(note)
    expect((await use('Grep', { pattern: 'other' })).text).toBe('other')
  })

  test('is reported by name only if a rule denies it by now', async () => {
    let isDenied = false
    const { use, cwd } = codingTools({}, { hides: () => isDenied })
    writeFileSync(join(cwd, 'a'), 'one\n')
    await use('Read', { file_path: 'a' })
    writeFileSync(join(cwd, 'a'), 'secret\n')
    isDenied = true
    expect((await use('Bash', { command: 'true' })).text).toBe(`(no output)\n\n${note}\na]`)
  })

  test('is reported if a command of the agent changed it', async () => {
    const { use } = await withRead({ a: 'one\n' })
    expect((await use('Bash', { command: 'echo two >> a' })).text).toBe(
      `(no output)\n\n${note}\na:\n@@ -1,1 +1,2 @@\n one\n+two]`,
    )
  })

  test('is not reported where the model changed or reads it, or where it was only touched', async () => {
    const { use, cwd } = await withRead({ a: 'one\n', b: 'one\n', c: 'one\n' })
    const edited = await use('Edit', { file_path: 'a', old_string: 'one', new_string: 'two' })
    const written = await use('Write', { file_path: 'b', content: 'two\n' })
    utimesSync(join(cwd, 'c'), 1, 1)
    const looked = await use('Read', { file_path: 'other' })
    expect([edited.text, written.text, looked.text].filter((text) => text.includes(note))).toEqual([])
    writeFileSync(join(cwd, 'a'), 'three\n')
    expect((await use('Read', { file_path: 'a' })).text).toBe('     1\tthree')
  })

  test('is reported if it is gone, a folder, or somewhere else', async () => {
    const { use, cwd } = await withRead({ a: '1', b: '2', c: '3' })
    rmSync(join(cwd, 'a'))
    rmSync(join(cwd, 'b'))
    mkdirSync(join(cwd, 'b'))
    renameSync(join(cwd, 'c'), join(cwd, 'd'))
    const { text } = await use('Read', { file_path: 'other' })
    expect(text).toBe(
      `     1\tother\n\n${note}\nc was deleted, or is no longer a file\nb was deleted, or is no longer a file\na was deleted, or is no longer a file]`,
    )
    expect((await use('Read', { file_path: 'other' })).text).toBe('     1\tother')
  })

  test('is reported within limits if there are many, or long changes', async () => {
    const names = Array.from({ length: 40 }, (_, index) => `f${index}`)
    const { use, cwd } = await withRead(
      Object.fromEntries(names.map((name) => [name, `${'x'.repeat(300)}\n`.repeat(100)])),
    )
    for (const name of names) writeFileSync(join(cwd, name), `${'y'.repeat(300)}\n`.repeat(100))
    const { text } = await use('Read', { file_path: 'other' })
    expect(text).toMatch(/f39:\n@@[^]*\[\.\.\. more\]\nf38:[^]*\nf30\nand 30 more\]$/)
    expect(text.length).toBeLessThan(6000)
  })

  test('is reported by one of several parallel results', async () => {
    const { use, cwd } = await withRead({ a: 'one\n' })
    writeFileSync(join(cwd, 'a'), 'two!\n')
    const results = await Promise.all(Array.from({ length: 10 }, () => use('Read', { file_path: 'other' })))
    expect(results.filter(({ text }) => text.includes(note))).toHaveLength(1)
  })

  test('is reported once by an edit that did not know about it', async () => {
    const { use, cwd } = await withRead({ a: 'one\n' })
    writeFileSync(join(cwd, 'a'), 'two two\n')
    const edit = { file_path: 'a', old_string: 'one', new_string: 'three' }
    expect((await use('Edit', edit)).text).toBe(
      `${changedSinceRead(`${cwd}/a`, everyTool)} What changed:\n@@ -1,1 +1,1 @@\n-one\n+two two`,
    )
  })

  test('is reported by name if it is an image or too large to store', async () => {
    const { use, cwd } = await withRead({ a: 'x'.repeat(100_000) })
    writeFileSync(join(cwd, 'a'), 'y')
    expect((await use('Read', { file_path: 'other' })).text).toBe(`     1\tother\n\n${note}\na]`)
  })
})
