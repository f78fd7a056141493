import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { filesBelow } from '../src/stored-sessions/find-session.ts'
import { UsageError } from '../src/usage-error.ts'

let root = ''
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'halting-below-'))
  mkdirSync(join(root, 'asked', 'below'), { recursive: true })
  mkdirSync(join(root, 'outside'))
  for (const name of ['asked/a.jsonl', 'asked/below/b.jsonl', 'outside/c.jsonl']) writeFileSync(join(root, name), '')
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

async function below(): Promise<readonly string[]> {
  return [...(await filesBelow(join(root, 'asked')))].toSorted()
}

test('finds the files of a folder and below, even through a link to the folder', async () => {
  expect(await below()).toEqual(['a.jsonl', join('below', 'b.jsonl')])
  symlinkSync(join(root, 'asked'), join(root, 'link'))
  expect((await filesBelow(join(root, 'link'))).size).toBe(2)
})

test('follows no link in a circle, or out of the folder', async () => {
  symlinkSync('.', join(root, 'asked', 'loop'))
  symlinkSync(join(root, 'outside'), join(root, 'asked', 'away'))
  expect(await below()).toEqual(['a.jsonl', join('below', 'b.jsonl')])
})

test.skipIf(process.platform === 'win32')(
  'includes a link to a file, but no pipes, devices and dangling links',
  async () => {
    symlinkSync(join(root, 'outside', 'c.jsonl'), join(root, 'asked', 'c.jsonl'))
    symlinkSync('/dev/zero', join(root, 'asked', 'zero.jsonl'))
    symlinkSync(join(root, 'nothing'), join(root, 'asked', 'nothing.jsonl'))
    execFileSync('mkfifo', [join(root, 'asked', 'pipe.jsonl')])
    expect(await below()).toEqual(['a.jsonl', join('below', 'b.jsonl'), 'c.jsonl'])
  },
)

test('reports a folder that cannot be read', async () => {
  await expect(filesBelow(join(root, 'asked', 'a.jsonl'))).rejects.toThrow(UsageError)
})
