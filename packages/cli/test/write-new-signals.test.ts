// Holds R-SESS-9c of docs/spec for signals: programs that are stopped while they write.
import { existsSync, readdirSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { toolReply, storeSession, textReply } from './support/store-session.ts'
import { here, installProgram, start } from './support/program.ts'

installProgram()

const id = 'aaaaaaaa-0000-4000-8000-000000000001'

/** Resolves as soon as a draft is created in this folder. */
function drafted(): Promise<void> {
  return new Promise((resolve) => {
    const watcher = watch(here(), (_, name) => {
      if (name?.endsWith('.part') !== true) return
      watcher.close()
      resolve()
    })
  })
}

describe('leaves the previous content and nothing else after a signal during --output', () => {
  // Too much to be written before the signal arrives.
  beforeAll(async () => {
    const edits = Array.from({ length: 300 }, (_, turn) =>
      toolReply(['Edit', { text: `${turn}${'x'.repeat(100_000)}` }]),
    )
    await storeSession(id, [...edits, textReply('Done.')])
  })

  test.each([
    { args: ['inspect', '--output', 'it.html', id], signal: 'SIGINT', before: undefined },
    { args: ['inspect', '--output', 'it.html', '--force', id], signal: 'SIGINT', before: 'before' },
    {
      args: ['sessions', 'export', id, '--format', 'jsonl', '--output', 'it.html'],
      signal: 'SIGTERM',
      before: undefined,
    },
    { args: ['sessions', 'export', id, '--output', 'it.html', '--force'], signal: 'SIGHUP', before: 'before' },
  ] as const)('$args at $signal', async ({ args, signal, before }) => {
    const file = join(here(), 'it.html')
    rmSync(file, { force: true })
    if (before !== undefined) writeFileSync(file, before)
    const names = readdirSync(here())
    const isDrafted = drafted()
    const each = start(args)
    await isDrafted
    each.child.kill(signal)
    expect(await each.ended).toEqual({ status: signal, stdout: '', stderr: '' })
    expect([readdirSync(here()), existsSync(file) ? readFileSync(file, 'utf8') : undefined]).toEqual([names, before])
  })

  test('report, while it reads', async () => {
    let isHeard: () => void = () => undefined
    const isAsked = new Promise<void>((resolve) => (isHeard = resolve))
    // It never answers.
    const cluster = createServer(() => isHeard())
    await new Promise<void>((resolve) => cluster.listen(0, '127.0.0.1', resolve))
    const { port } = cluster.address() as AddressInfo
    const names = readdirSync(here())
    const each = start(['report', id, '--cluster', `http://127.0.0.1:${port}`, '--output', 'week.txt'])
    await isAsked
    each.child.kill('SIGINT')
    expect(await each.ended).toEqual({ status: 'SIGINT', stdout: '', stderr: '' })
    expect(readdirSync(here())).toEqual(names)
    cluster.closeAllConnections()
    cluster.close()
  })
})
