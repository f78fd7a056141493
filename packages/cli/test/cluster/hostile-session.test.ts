// Holds a rule of docs/spec: R-WORK-8: text of a model on a cluster cannot control the client's terminal.
import { afterEach, expect, test } from 'vitest'
import { listClusterSessions } from '../../src/cluster/sessions.ts'
import { promptOnCluster } from '../../src/cluster/prompt.ts'
import type { Flags } from '../../src/flags/flags.ts'
import { whatIfCommand } from '../../src/what-if/what-if.ts'
import { why } from '../../src/why/why.ts'
import { type ServedCluster, servedCluster } from '../support/cluster.ts'
import { call } from '../support/program.ts'
import { programInMemory } from '../support/program-in-memory.ts'

const clusters: ServedCluster[] = []
afterEach(async () => {
  for (const cluster of clusters.splice(0)) await cluster.close()
})

const hostile = 'a\u001b[2J\u001b]0;title\u0007\u0000\u202eb\u2066c\u009b31m'
// oxlint-disable-next-line no-control-regex
const commands = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/

test('lists, explains and analyzes a session with terminal controls in plain text, however long its texts are', async () => {
  const long = hostile + 'x'.repeat(1024 * 1024)
  const calls = [call('Bash', { command: `echo ${hostile}`, description: long }), call(hostile, { file_path: long })]
  const replies = [{ content: [{ type: 'text', text: long }, ...calls] }, { content: `Done ${hostile}` }]
  const made = await servedCluster(replies, { permissionMode: 'bypassPermissions' })
  clusters.push(made)
  const flags: Flags = { cluster: made.url, admin: made.url }
  const shown: Record<string, string> = {}
  const run = async (name: string, act: (program: ReturnType<typeof programInMemory>) => Promise<number>) => {
    const program = programInMemory({ cwd: '/', env: {}, isTerminal: true })
    program.stdin.end('')
    let err = ''
    const output = { ...program.output, err: (text: string) => void (err += text) }
    await act({ ...program, output })
    shown[name] = program.written() + err
  }
  await run('-p', (program) => promptOnCluster({ ...flags, print: true, verbose: true }, [`go ${hostile}`], program))
  const sessionId = made.cluster.requests[0]?.sessionId ?? ''
  await run('sessions', (program) => listClusterSessions(flags, program))
  await run('why', (program) => why(flags, [sessionId], program))
  await run('what-if', (program) => whatIfCommand({ ...flags, maxTurns: 1 }, [sessionId], program))
  for (const [name, text] of Object.entries(shown)) {
    // Colours of our own on a terminal are none of the session's.
    // oxlint-disable-next-line no-control-regex
    const plain = text.replaceAll(/\u001b\[[\d;]*m/g, '')
    expect({ name, commands: commands.exec(plain)?.[0] }).toEqual({ name, commands: undefined })
    expect(text.length).toBeGreaterThan(0)
  }
  for (const name of ['sessions', 'why', 'what-if']) expect(shown[name]?.length).toBeLessThan(20_000)
})
