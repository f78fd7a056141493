import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ScriptedServer, startScriptedServer } from '@halting/models/scripted'
import { fakeCluster, type FakeCluster, SessionRefusedError } from '../../../restate/test/support/fake-cluster.ts'
import { workerLog } from '../../src/cluster/worker-log.ts'
import { openWorkerSession } from '../../src/cluster/worker-sessions.ts'
import { Workspaces } from '../../src/cluster/workspaces.ts'
import type { Flags } from '../../src/flags/flags.ts'
import { programInMemory } from './program-in-memory.ts'

export interface ServedCluster {
  readonly cluster: FakeCluster
  readonly url: string
  readonly service: ScriptedServer
  /** The folder with the folders of its sessions. */
  readonly base: string
  readonly close: () => Promise<void>
}

/** A cluster with a worker of `halting serve` with these flags and variables, whose model sends these replies. */
export async function servedCluster(
  replies: readonly unknown[],
  flags: Flags = {},
  variables: Readonly<Record<string, string>> = {},
): Promise<ServedCluster> {
  const service = await startScriptedServer({ replies })
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'halting-cluster-')))
  const env = {
    PATH: process.env['PATH'],
    HOME: home,
    TMPDIR: home,
    ANTHROPIC_API_KEY: 'k',
    ANTHROPIC_BASE_URL: service.url,
    ANTHROPIC_MODEL: 'claude-sonnet-5-5',
    ...variables,
  }
  const base = join(home, 'sessions')
  const program = programInMemory({ cwd: home, env })
  const options = {
    flags,
    program,
    log: workerLog({ format: 'text', output: program.output, worker: () => undefined }),
    workspaces: new Workspaces({ base }),
    refusal: (message: string) => new SessionRefusedError(message),
  }
  const cluster = await fakeCluster({ open: (asked) => openWorkerSession(options, asked) })
  return {
    cluster,
    url: cluster.url,
    service,
    base,
    async close() {
      await cluster.close()
      await service.close()
      rmSync(home, { recursive: true, force: true })
    },
  }
}
