// Holds rules R-HAND-8 and R-HAND-8a of docs/spec.
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createResultFiles } from '@halting/journal'
import { expect, test } from 'vitest'
import { spoolCut } from '../src/tools/shell-texts.ts'
import { isDeep } from './support/deep.ts'
import { codingTools, type Harness, temporaryFolder } from './support/harness.ts'

const spooledBy = async ({ use }: Harness, command: string): Promise<string | undefined> =>
  (await use('Bash', { command })).output.spooled

const never = new AbortController().signal

test('writes output beyond the limit completely, readable only by the user, and no shorter output', async () => {
  const spoolFolder = join(temporaryFolder(), 'a', 'b')
  const harness = codingTools({ bashOutputCharacters: 1000 }, { spoolFolder })
  expect([await spooledBy(harness, 'seq 1 100'), existsSync(spoolFolder)]).toEqual([undefined, false])
  const path = (await spooledBy(harness, 'seq 1 5000; echo ä😀')) ?? ''
  expect(readFileSync(path, 'utf8')).toBe(`${Array.from({ length: 5000 }, (_, at) => `${at + 1}\n`).join('')}ä😀\n`)
  expect([lstatSync(path).mode & 0o777, lstatSync(spoolFolder).mode & 0o777]).toEqual([0o600, 0o700])
  await harness.workspace.dispose()
  expect(existsSync(spoolFolder)).toBe(false)
})

test('moves it to the results of the session, also when repeated', async () => {
  const [home, cwd] = [temporaryFolder(), temporaryFolder()]
  const files = createResultFiles({ cwd, home, env: {}, sessionId: 's' })
  const harness = codingTools({ bashOutputCharacters: 1000 }, { spoolFolder: files.spoolFolder })
  const spooled = (await spooledBy(harness, 'seq 1 5000')) ?? ''
  const result = { callId: 'c', toolName: 'Bash', text: 'head and tail', spooled, idempotencyKey: 'k' }
  const path = await files.save(result, { signal: never })
  expect(readFileSync(path, 'utf8')).toMatch(/^1\n2\n[^]*\n5000\n$/)
  expect([await files.save(result, { signal: never }), readdirSync(files.spoolFolder)]).toEqual([path, []])
  await expect(files.save({ ...result, idempotencyKey: 'other' }, { signal: never })).rejects.toThrow('is missing')
})

test('removes secrets from all of it, and does not follow a link in place of the folder', async () => {
  const folder = temporaryFolder()
  const harness = codingTools({ bashOutputCharacters: 1000 }, { spoolFolder: join(folder, 'spool') })
  harness.workspace.redact = (text) => text.replaceAll('secret', '*')
  const command = 'seq 1 1000; echo a secret; seq 1 1000; '
  // While the command is running nothing of it is on disk.
  const path = (await spooledBy(harness, `${command} test -e ${folder}/spool && echo there`)) ?? ''
  expect(readFileSync(path, 'utf8')).toContain('\na *\n')
  expect(readFileSync(path, 'utf8')).not.toContain('there')
  mkdirSync(join(folder, 'elsewhere'))
  symlinkSync('elsewhere', join(folder, 'link'))
  const linked = codingTools({ bashOutputCharacters: 1000 }, { spoolFolder: join(folder, 'link') })
  expect([await spooledBy(linked, 'seq 1 5000'), readdirSync(join(folder, 'elsewhere'))]).toEqual([undefined, []])
})

test('a failing disk costs only the file', async () => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'file'), '')
  const harness = codingTools({ bashOutputCharacters: 1000 }, { spoolFolder: join(folder, 'file', 'spool') })
  const { output } = await harness.use('Bash', { command: 'seq 1 5000' })
  expect([output.isError, output.spooled]).toEqual([false, undefined])
  await harness.workspace.dispose()
})

test.runIf(isDeep)('writes the first 64 MiB of endless output, and says so', async () => {
  const harness = codingTools({ bashOutputCharacters: 1000 }, { spoolFolder: join(temporaryFolder(), 'spool') })
  const path = (await spooledBy(harness, 'yes | head -c 80000000')) ?? ''
  expect(lstatSync(path).size).toBeLessThan(64 * 1024 * 1024 + 100)
  expect(readFileSync(path, 'utf8').slice(-80)).toContain(`y\n\n${spoolCut(67_108_864)}\n`)
})

test.runIf(isDeep)('leaves no half of a secret where the output is cut', async () => {
  const harness = codingTools({ bashOutputCharacters: 1000 }, { spoolFolder: join(temporaryFolder(), 'spool') })
  harness.workspace.redact = (text) => text.replaceAll('secret', '*')
  const long = (await spooledBy(harness, 'yes secret | head -c 10000000')) ?? ''
  const note = `${spoolCut(8_388_608)}\n`
  const stored = readFileSync(long, 'utf8')
  expect(stored.slice(-note.length)).toBe(note)
  expect(stored.slice(0, -note.length)).toMatch(/^(?:\*\n)+\*?\n$/)
})
