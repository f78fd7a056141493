// Files that an editor has open (spec R-ACP-12).
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { EditorFiles } from '@halting/agent'
import { codingTools, type Harness } from './support/harness.ts'

interface Opened extends Harness {
  readonly path: string
  /** Unsaved text in the editor. */
  readonly typed: Map<string, string>
  /** Its requests, in order. */
  readonly asked: string[]
}

/** One file on disk, and an editor that saves what it receives. */
function inEditor(content: string, files: Partial<EditorFiles> = {}): Opened {
  const harness = codingTools()
  const path = join(harness.cwd, 'file.txt')
  writeFileSync(path, content)
  const [typed, asked] = [new Map<string, string>(), [] as string[]]
  harness.workspace.editor = {
    async read(name) {
      asked.push(`read ${name}`)
      return typed.get(name) ?? readFileSync(name, 'utf8')
    },
    async write(name, text) {
      asked.push(`write ${name}`)
      typed.delete(name)
      writeFileSync(name, text)
      return true
    },
    ...files,
  }
  return { ...harness, path, typed, asked }
}

test('reads, edits and preserves unsaved text of the user', async () => {
  const { use, path, typed, asked } = inEditor('one\ntwo\n')
  typed.set(path, 'one\ntyped\n')
  expect(await use('Read', { file_path: path })).toMatchObject({ text: '     1\tone\n     2\ttyped', isError: false })
  const edited = await use('Edit', { file_path: path, old_string: 'one', new_string: 'three' })
  expect(edited).toMatchObject({ isError: false })
  expect(readFileSync(path, 'utf8')).toBe('three\ntyped\n')
  expect(asked.filter((one) => one.startsWith('write'))).toEqual([`write ${path}`])
  // The model knows it: no second read is required.
  expect(await use('Write', { file_path: path, content: 'all new\n' })).toMatchObject({ isError: false })
  expect(readFileSync(path, 'utf8')).toBe('all new\n')
})

test('does not overwrite what is typed after a read', async () => {
  const { use, path, typed } = inEditor('one\ntwo\n')
  await use('Read', { file_path: path })
  typed.set(path, 'one\ntyped later\n')
  const edited = await use('Edit', { file_path: path, old_string: 'one', new_string: 'three' })
  expect(edited).toMatchObject({ isError: true })
  expect(edited.text).toContain('has changed since you read it')
  expect(edited.text).toContain('+typed later')
  expect(readFileSync(path, 'utf8')).toBe('one\ntwo\n')
})

test('preserves line ends on disk although an editor returns LF', async () => {
  const { use, path, typed } = inEditor('one\r\ntwo\r\n')
  typed.set(path, 'one\ntwo\n')
  await use('Read', { file_path: path })
  await use('Edit', { file_path: path, old_string: 'two', new_string: '2' })
  expect(readFileSync(path, 'utf8')).toBe('one\r\n2\r\n')
  typed.set(path, 'one\n2\nthree\n')
  await use('Read', { file_path: path })
  expect(await use('Edit', { file_path: path, old_string: 'three', new_string: '3' })).toMatchObject({ isError: false })
  expect(readFileSync(path, 'utf8')).toBe('one\r\n2\r\n3\r\n')
})

test('reads from and writes to disk what the editor does not handle', async () => {
  const { use, path, cwd } = inEditor('one\n', { read: async () => undefined, write: async () => false })
  expect(await use('Read', { file_path: path })).toMatchObject({ text: '     1\tone' })
  expect(await use('Edit', { file_path: path, old_string: 'one', new_string: '1' })).toMatchObject({ isError: false })
  expect(readFileSync(path, 'utf8')).toBe('1\n')
  expect(await use('Write', { file_path: 'new/file.txt', content: 'new\n' })).toMatchObject({ isError: false })
  expect(readFileSync(join(cwd, 'new/file.txt'), 'utf8')).toBe('new\n')
})

test('writes to disk if an editor only claims to have written', async () => {
  const { use, cwd } = inEditor('', { write: async () => true })
  expect(await use('Write', { file_path: 'new.txt', content: 'new\n' })).toMatchObject({ isError: false })
  expect(readFileSync(join(cwd, 'new.txt'), 'utf8')).toBe('new\n')
})

test('requires another read after the editor formatted a saved file', async () => {
  const { use, path } = inEditor('one\n', {
    read: async (name) => readFileSync(name, 'utf8'),
    async write(name, text) {
      writeFileSync(name, `${text}// formatted\n`)
      return true
    },
  })
  await use('Read', { file_path: path })
  expect(await use('Edit', { file_path: path, old_string: 'one', new_string: '1' })).toMatchObject({ isError: false })
  const second = await use('Edit', { file_path: path, old_string: '1', new_string: '2' })
  expect(second.text).toContain('has changed since you read it')
})

test('asks the editor only for what was judged and opened: no folder, no image, and a link by its target', async () => {
  const { use, path, cwd, asked } = inEditor('one\n')
  mkdirSync(join(cwd, 'folder'))
  writeFileSync(join(cwd, 'program'), Buffer.from([1, 2, 0, 3]))
  symlinkSync(path, join(cwd, 'link'))
  await use('Read', { file_path: 'folder' })
  await use('Read', { file_path: 'program' })
  await use('Read', { file_path: 'absent' })
  expect(asked).toEqual([])
  await use('Read', { file_path: 'link' })
  expect(asked).toEqual([`read ${path}`])
})
