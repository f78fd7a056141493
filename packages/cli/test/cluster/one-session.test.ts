// Holds rules of docs/spec: R-LIST-6, R-LIST-7: replay, export and deletion of a session of a cluster.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { promptOnCluster } from '../../src/cluster/prompt.ts'
import type { Flags } from '../../src/flags/flags.ts'
import { replaySession } from '../../src/replay/replay.ts'
import { sessions } from '../../src/sessions/sessions.ts'
import { type ServedCluster, servedCluster } from '../support/cluster.ts'
import { programInMemory } from '../support/program-in-memory.ts'
import { call } from '../support/program.ts'

let made: ServedCluster
let sessionId = ''
beforeAll(async () => {
  const replies = [
    { content: [call('Bash', { command: 'echo one' })] },
    { content: 'All done.' },
    { content: [call('Bash', { command: 'sleep 30' })] },
    { content: 'Stopped.' },
  ]
  made = await servedCluster(replies, { permissionMode: 'bypassPermissions' })
  sessionId = await prompted('Say one.')
})
afterAll(() => made.close())

const here = () => programInMemory({ cwd: made.base, env: { HOME: made.base } })

/** Returns the ID of the session. */
async function prompted(text: string): Promise<string> {
  const program = here()
  program.stdin.end('')
  await promptOnCluster({ cluster: made.url, admin: made.url, print: true }, [text], program)
  return made.cluster.requests.at(-1)?.sessionId ?? ''
}

async function ofCluster(run: typeof sessions, flags: Flags, words: readonly string[]): Promise<string> {
  const program = here()
  await run({ cluster: made.url, admin: made.url, ...flags }, words, program)
  return program.written()
}

async function ofFile(run: typeof sessions, flags: Flags, words: readonly string[]): Promise<string> {
  const program = here()
  await run(flags, words, program)
  return program.written()
}

test('exports a session as a JSONL file, and every other command reports the same for the session and for this file', async () => {
  const file = join(made.base, 'exported.jsonl')
  writeFileSync(file, await ofCluster(sessions, { format: 'jsonl' }, ['export', sessionId]))
  const replayed = await ofCluster(replaySession, {}, [sessionId])
  expect(replayed).toContain('call: Bash')
  expect(replayed).toBe(await ofFile(replaySession, {}, [file]))
  for (const format of ['markdown', 'html'] as const) {
    const exported = await ofCluster(sessions, { format }, ['export', sessionId])
    expect(exported).toContain('All done.')
    const local = await ofFile(sessions, { format }, ['export', file])
    // The resume command names the cluster.
    const plain = (text: string): string => text.replaceAll(/ --cluster [^\s<]+/g, '')
    expect(plain(exported)).toBe(plain(local))
  }
  await expect(ofCluster(sessions, {}, ['export', 'nobody'])).rejects.toThrow(
    'No conversation found with session ID: nobody',
  )
})

test('deletes a session after confirmation, and not while it is running', async () => {
  const remove = (flags: Flags, id: string) => ofCluster(sessions, flags, ['delete', id])
  await expect(remove({ yes: true }, 'nobody')).rejects.toThrow('No conversation found with session ID: nobody')
  await expect(remove({}, sessionId)).rejects.toThrow('its records, what is stored of them elsewhere, and its folder')
  expect(await remove({ yes: true }, sessionId)).toBe(`Deleted: ${sessionId}\n`)
  await expect(remove({ yes: true }, sessionId)).rejects.toThrow('No conversation found')
  const going = prompted('Wait.')
  await expect.poll(() => made.service.requests.length).toBe(3)
  const working = made.cluster.requests.at(-1)?.sessionId ?? ''
  await expect(remove({ yes: true }, working)).rejects.toThrow(
    'is running. Answer or interrupt it first, or add --force',
  )
  expect(await remove({ yes: true, force: true }, working)).toBe(`Deleted: ${working}\n`)
  expect(await made.cluster.records(working)).toEqual([])
  await going
})

test('refuses what a cluster does not support, with alternatives', async () => {
  for (const [words, flags, says] of [
    [['show', 'x'], {}, 'Commands: list, delete, export'],
    [['exprt', 'x'], {}, 'Did you mean export?'],
    [['delete'], {}, 'delete ID --yes needs a value'],
    [['delete', 'x'], { limit: 3 }, '--limit belongs to halting sessions list'],
    [['list'], { force: true }, '--force belongs to halting sessions export'],
    [['list', 'x'], {}, 'takes no argument'],
  ] as const)
    await expect(ofCluster(sessions, flags, words)).rejects.toThrow(says)
})
